// The client at /app in a real browser, against the real service.

import assert from "node:assert/strict";
import { test } from "node:test";
import { createClient } from "@agora/client";
import { check, heading, join, open, PASSWORD, PICTURE, SIZES, service, wayToService } from "./browser.js";

for (const [size, width] of SIZES) {
  test(`a member does everything, in a ${size} window`, async (context) => {
    const way = await wayToService(context);
    const page = await open(context, "app", width, way.address);
    const resumed = [];
    page.on("request", (request) => {
      if (request.url().includes("/api/events")) resumed.push(request.headerValue("Last-Event-ID"));
    });
    const to = async (place, title = place) => {
      await page.getByRole("navigation", { name: "Main" }).getByRole("link", { name: place }).click();
      await heading(page, title);
    };
    const friend = await join(`bob-${size}`);

    // She registers; what is wrong is said first.
    await heading(page, "Log in");
    await check(page, `${size}-login`);
    await page.getByRole("link", { name: "Register" }).click();
    await page.getByLabel("Name", { exact: true }).fill(`ada-${size}`);
    await page.getByLabel("Email address").fill(`ada-${size}@example.org`);
    await page.getByLabel("Password").fill("short");
    await page.getByRole("button", { name: "Register" }).click();
    await page.getByRole("alert").filter({ hasText: "Password" }).waitFor();
    await check(page, `${size}-register`);
    await page.getByLabel("Password").fill(PASSWORD);
    await page.getByLabel("Keep me logged in").check();
    await page.getByRole("button", { name: "Register" }).click();
    await heading(page, "Home");

    // She posts a picture with what it shows, and takes another one back.
    await page.getByLabel("What is new?").fill("Hello, Agora! #first");
    await page.getByLabel("Add pictures").setInputFiles([PICTURE, { ...PICTURE, name: "other.png" }]);
    await page.getByLabel("What picture.png shows").fill("Two dots");
    await page.getByRole("button", { name: "Remove other.png" }).click();
    await check(page, `${size}-composer`);
    await page.getByRole("button", { name: "Post", exact: true }).click();
    await heading(page, "Post");
    const post = page.getByRole("article", { name: `Post by ada-${size}` });
    await post.getByRole("link", { name: "#first" }).waitFor();
    const picture = post.getByRole("img", { name: "Two dots" });
    await picture.scrollIntoViewIfNeeded();
    await page.waitForFunction((image) => image.naturalWidth === 2, await picture.elementHandle());
    const { id: postId } = (await friend.client.get("/api/posts/public")).data[0];

    // While a picture is on its way, its place shows what it is like.
    let arrive;
    const arrival = new Promise((resolve) => (arrive = resolve));
    await page.route("**/media/**", (route) => arrival.then(() => route.continue()));
    await page.reload();
    const blur = post.locator("canvas");
    const alpha = (canvas) => canvas.getContext("2d").getImageData(0, 0, 1, 1).data[3];
    assert.equal(await blur.evaluate(alpha), 255);
    arrive();
    await blur.waitFor({ state: "detached" });
    await page.unroute("**/media/**");

    // He likes it and comments on it: she sees it while it happens, and answers.
    const path = { postId };
    await friend.client.put("/api/posts/like/{postId}", { params: { path } });
    await post.getByRole("button", { name: "Like, 1 like" }).waitFor();
    await friend.client.post("/api/posts/{postId}/comments", { params: { path }, body: { content: "Welcome" } });
    await page.getByRole("button", { name: "There are new comments" }).click();
    const comment = page.getByRole("article", { name: `Comment by bob-${size}` });
    await comment.getByText("Welcome").waitFor();
    await post.getByRole("link", { name: "1 comment", exact: true }).waitFor();
    await comment.getByRole("button", { name: "Like, 0 likes" }).click();
    await comment.getByRole("button", { name: "Like, 1 like", pressed: true }).waitFor();
    await comment.getByText("Reply", { exact: true }).click();
    const answer = comment.getByRole("textbox", { name: `Reply to bob-${size}` });
    await answer.fill(`Thank you, @bob-${size}`);
    // What she has written so far stays when more comes in: by herself, elsewhere.
    const login = { identifier: `ada-${size}`, password: PASSWORD };
    const logInElsewhere = async () => {
      const { token } = await createClient({ service }).post("/api/auth/login", { body: login });
      return createClient({ service, token });
    };
    const elsewhere = await logInElsewhere();
    await elsewhere.post("/api/posts/{postId}/comments", { params: { path }, body: { content: "Well" } });
    await page.getByRole("button", { name: "There are new comments" }).click();
    await post.getByRole("link", { name: "2 comments" }).waitFor();
    await page.getByText("Well", { exact: true }).waitFor();
    assert.equal(await answer.inputValue(), `Thank you, @bob-${size}`);
    await comment.getByRole("button", { name: "Send", exact: true }).click();
    const reply = page.getByRole("article", { name: `Comment by ada-${size}` });
    await reply.getByRole("link", { name: `@bob-${size}` }).waitFor();
    await check(page, `${size}-post`);

    // Of several, each is a thumbnail that leads to the picture.
    await to("Home");
    for (const name of ["1.png", "2.png", "3.png"]) {
      await page.getByLabel("Add pictures").setInputFiles({ ...PICTURE, name });
      await page.getByLabel(`What ${name} shows`).fill(`The picture ${name}`);
    }
    await page.getByRole("button", { name: "Post", exact: true }).click();
    await heading(page, "Post");
    const gallery = page.getByRole("list", { name: "Pictures" });
    await gallery.getByRole("link", { name: "The picture 3.png" }).waitFor();
    const thumbnail = await gallery.getByRole("img", { name: "The picture 1.png" }).elementHandle();
    await page.waitForFunction((image) => image.naturalWidth === 2, thumbnail);
    assert.match(await thumbnail.getAttribute("src"), /\.thumb\.jpg$/);
    await check(page, `${size}-pictures`);

    // She reads what happened, and follows him.
    await page.getByRole("link", { name: /Notifications 2 unread/ }).waitFor();
    await to("Notifications");
    await page.getByText("commented on your post").waitFor();
    await check(page, `${size}-notifications`);
    await page.getByRole("link", { name: /Notifications 2 unread/ }).waitFor({ state: "detached" });
    await to("Search");
    const row = page.getByRole("listitem").filter({ hasText: `@bob-${size}` });
    await row.getByRole("button", { name: `Follow bob-${size}` }).click();
    await row.getByRole("button", { name: `Unfollow bob-${size}` }).waitFor();
    await check(page, `${size}-directory`);

    // Her feed says when he posts, also what he posted while her connections were cut.
    await to("Home");
    await friend.client.post("/api/posts/create", { body: { text: "Good morning" } });
    await page.getByRole("button", { name: "Show 1 new post" }).click();
    await page.getByRole("article", { name: `Post by bob-${size}` }).getByText("Good morning").waitFor();
    resumed.length = 0;
    way.cut();
    await friend.client.post("/api/posts/create", { body: { text: "Good evening" } });
    await page.getByRole("button", { name: "Show 1 new post" }).click();
    assert(await resumed[0], "it came back behind the last event");
    const evening = page.getByRole("article", { name: `Post by bob-${size}` }).filter({ hasText: "Good evening" });
    await evening.getByRole("button", { name: "Bookmark" }).click();
    await evening.getByRole("button", { name: "Bookmark", pressed: true }).waitFor();
    await check(page, `${size}-feed`);
    await to("Bookmarks");
    await page.getByText("Good evening").waitFor();
    await check(page, `${size}-bookmarks`);

    // She finds a post by its words, and reports it.
    await to("Search");
    await page.getByLabel(/Words/).fill("even");
    await page.getByRole("button", { name: "Search" }).click();
    const found = page.getByRole("article", { name: `Post by bob-${size}` }).filter({ hasText: "Good evening" });
    await found.getByText("Report", { exact: true }).click();
    await found.getByLabel("Why").selectOption("SPAM");
    await found.getByRole("button", { name: "Send report" }).click();
    await found.getByText("Thank you.").waitFor();
    await check(page, `${size}-search`);

    // On his profile she blocks him, and lets him in again.
    await found.getByRole("link", { name: `bob-${size}` }).click();
    await heading(page, `bob-${size}`);
    await check(page, `${size}-profile`);
    await page.getByText("Mute, block, report").click();
    await page.getByRole("button", { name: /^Block/ }).click();
    await page.getByText("You have blocked this user.").waitFor();
    await page.getByRole("button", { name: "Unblock" }).click();
    await page.getByRole("article", { name: `Post by bob-${size}` }).getByText("Good evening").waitFor();
    await page.getByRole("button", { name: `Follow bob-${size}` }).waitFor();

    // She edits her post and deletes it.
    await to("Public");
    const all = page.getByRole("article", { name: `Post by ada-${size}` });
    const hers = all.filter({ hasNot: page.getByRole("list", { name: "Pictures" }) });
    await hers.getByRole("button", { name: "Edit" }).click();
    await hers.getByLabel("Text").fill("Goodbye");
    await hers.getByRole("button", { name: "Save" }).click();
    await hers.getByText("Goodbye").waitFor();
    await check(page, `${size}-public`);
    await hers.getByText("Delete", { exact: true }).click();
    await hers.getByRole("button", { name: "Delete this post for good" }).click();
    await hers.waitFor({ state: "detached" });

    // On the page of a post that is gone she is still told what happens.
    const refused = page.waitForResponse((response) => response.url().includes(postId) && response.url().includes("/api/events"));
    await page.evaluate((id) => (location.hash = `#/post/${id}`), postId);
    assert.equal((await refused).status(), 404);
    const { data: left } = await friend.client.get("/api/posts/public");
    const other = { postId: left.find(({ author }) => author.username === `ada-${size}`).id };
    await friend.client.post("/api/posts/{postId}/comments", { params: { path: other }, body: { content: "Nice" } });
    await page.getByRole("link", { name: /Notifications 1 unread/ }).waitFor();

    // The catalog is open to all.
    await to("Products");
    await check(page, `${size}-products`);

    // She changes her profile, and how the page looks.
    await to("Settings");
    await page.getByLabel("Colors").selectOption("dark");
    await check(page, `${size}-settings-dark`);
    await page.getByLabel("Colors").selectOption("light");
    await page.getByLabel("Displayed name").fill("Ada Lovelace");
    await page.getByLabel("Picture", { exact: true }).setInputFiles(PICTURE);
    await page.getByRole("button", { name: "Save profile" }).click();
    await page.getByText("Saved.").waitFor();
    const avatar = await page.locator("img.avatar").elementHandle();
    await page.waitForFunction((image) => image.naturalWidth === 2, avatar);
    assert.match(await avatar.getAttribute("src"), /\.thumb\.jpg$/);
    await page.getByLabel("Likes of your posts").selectOption("none");
    await page.getByRole("button", { name: "Save notifications" }).click();
    await page.getByRole("region", { name: "Notifications" }).getByText("Saved.").waitFor();
    await check(page, `${size}-settings`);

    // She is still there when the page is loaded anew; another session of hers is ended.
    await page.reload();
    await heading(page, "Settings");
    assert.equal(await page.getByLabel("Displayed name").inputValue(), "Ada Lovelace");
    const { token } = await createClient({ service }).post("/api/auth/login", { body: login });
    await page.getByRole("button", { name: "End all others" }).click();
    await page.waitForFunction(
      async ([address, token]) =>
        (await fetch(address, { headers: { Authorization: `Bearer ${token}` } })).status === 401,
      [`${way.address}/api/users/me`, token],
    );

    // With the keyboard alone: the first thing leads past the places.
    await page.getByRole("link").first().focus();
    await page.keyboard.press("Enter");
    assert.equal(await page.evaluate(() => document.activeElement?.tagName), "H1");

    // She logs out, and nothing is left of her token.
    await page.getByRole("button", { name: "Log out here" }).click();
    await heading(page, "Log in");
    assert.equal(await page.evaluate(() => sessionStorage.getItem("agora-token")), null);

    // A visitor finds back from the catalog; when her session is ended elsewhere, she is told.
    await page.getByRole("link", { name: "Products" }).click();
    await heading(page, "Products");
    await page.getByRole("link", { name: "Log in" }).click();
    await page.getByLabel("Name or address").fill(login.identifier);
    await page.getByLabel("Password").fill(PASSWORD);
    await page.getByRole("button", { name: "Log in" }).click();
    await heading(page, "Home");
    await (await logInElsewhere()).delete("/api/users/me/sessions");
    await page.getByText("Your session has ended").waitFor();
  });
}
