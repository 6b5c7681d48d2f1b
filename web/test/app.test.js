// The client at /app in a browser, with a running service.

import assert from "node:assert/strict";
import { test } from "node:test";
import { createClient } from "@agora/client";
import { check, heading, join, open, PASSWORD, PICTURE, SIZES, service, startProxy } from "./browser.js";

for (const [size, width] of SIZES) {
  test(`a member uses every page, in a ${size} window`, async (context) => {
    const proxy = await startProxy(context);
    const page = await open(context, "app", width, proxy.address);
    const resumed = [];
    page.on("request", (request) => {
      if (request.url().includes("/api/events")) resumed.push(request.headerValue("Last-Event-ID"));
    });
    const to = async (place, title = place) => {
      await page.getByRole("navigation", { name: "Main" }).getByRole("link", { name: place }).click();
      await heading(page, title);
    };
    const friend = await join(`bob-${size}`);

    // She registers. The first attempt shows an error.
    await heading(page, "Log in");
    await check(page, `${size}-login`);
    await page.getByRole("link", { name: "Register" }).click();
    await page.getByLabel("Username").fill(`ada-${size}`);
    await page.getByLabel("Email address").fill(`ada-${size}@example.org`);
    await page.getByLabel("Password").fill("short");
    await page.getByRole("button", { name: "Register" }).click();
    await page.getByRole("alert").filter({ hasText: "Password" }).waitFor();
    await check(page, `${size}-register`);
    await page.getByLabel("Password").fill(PASSWORD);
    await page.getByLabel("Keep me logged in").check();
    await page.getByRole("button", { name: "Register" }).click();
    await heading(page, "Home");

    // She posts a picture with an alternative text, after she removed another one.
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

    // Until a picture is loaded, the page shows its blurhash.
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

    // He likes the post and comments on it. She sees this at once, and replies.
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
    // Her draft stays when another comment arrives, which she writes in another session.
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

    // Several pictures are thumbnails with links to the pictures.
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

    // She reads her notifications, and follows him.
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

    // Her feed announces his posts, also those from the time when her connections were closed.
    await to("Home");
    await friend.client.post("/api/posts/create", { body: { text: "Good morning" } });
    await page.getByRole("button", { name: "Show 1 new post" }).click();
    await page.getByRole("article", { name: `Post by bob-${size}` }).getByText("Good morning").waitFor();
    resumed.length = 0;
    proxy.cut();
    await friend.client.post("/api/posts/create", { body: { text: "Good evening" } });
    await page.getByRole("button", { name: "Show 1 new post" }).click();
    assert(await resumed[0], "the stream resumes after the last event");
    const evening = page.getByRole("article", { name: `Post by bob-${size}` }).filter({ hasText: "Good evening" });
    await evening.getByRole("button", { name: "Bookmark" }).click();
    await evening.getByRole("button", { name: "Bookmark", pressed: true }).waitFor();
    await check(page, `${size}-feed`);
    await to("Bookmarks");
    await page.getByText("Good evening").waitFor();
    await check(page, `${size}-bookmarks`);

    // She searches for a post, and reports it.
    await to("Search");
    await page.getByLabel(/Words/).fill("even");
    await page.getByRole("button", { name: "Search" }).click();
    const found = page.getByRole("article", { name: `Post by bob-${size}` }).filter({ hasText: "Good evening" });
    await found.getByText("Report", { exact: true }).click();
    await found.getByLabel("Why").selectOption("SPAM");
    await found.getByRole("button", { name: "Send report" }).click();
    await found.getByText("Thank you.").waitFor();
    await check(page, `${size}-search`);

    // On his profile she blocks and unblocks him.
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

    // On the page of a deleted post she still gets live updates.
    const refused = page.waitForResponse((response) => response.url().includes(postId) && response.url().includes("/api/events"));
    await page.evaluate((id) => (location.hash = `#/post/${id}`), postId);
    assert.equal((await refused).status(), 404);
    const { data: left } = await friend.client.get("/api/posts/public");
    const other = { postId: left.find(({ author }) => author.username === `ada-${size}`).id };
    await friend.client.post("/api/posts/{postId}/comments", { params: { path: other }, body: { content: "Nice" } });
    await page.getByRole("link", { name: /Notifications 1 unread/ }).waitFor();

    // She opens the catalog.
    await to("Products");
    await check(page, `${size}-products`);

    // She changes her profile, and the color theme.
    await to("Settings");
    await page.getByLabel("Colors").selectOption("dark");
    await check(page, `${size}-settings-dark`);
    await page.getByLabel("Colors").selectOption("light");
    await page.getByLabel("Display name").fill("Ada Lovelace");
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

    // After a reload she is still logged in. She ends another session.
    await page.reload();
    await heading(page, "Settings");
    assert.equal(await page.getByLabel("Display name").inputValue(), "Ada Lovelace");
    const { token } = await createClient({ service }).post("/api/auth/login", { body: login });
    await page.getByRole("button", { name: "End all others" }).click();
    await page.waitForFunction(
      async ([address, token]) =>
        (await fetch(address, { headers: { Authorization: `Bearer ${token}` } })).status === 401,
      [`${proxy.address}/api/users/me`, token],
    );

    // The first link, for users of the keyboard, skips the navigation.
    await page.getByRole("link").first().focus();
    await page.keyboard.press("Enter");
    assert.equal(await page.evaluate(() => document.activeElement?.tagName), "H1");

    // After she logs out, her token is not stored any more.
    await page.getByRole("button", { name: "Log out here" }).click();
    await heading(page, "Log in");
    assert.equal(await page.evaluate(() => sessionStorage.getItem("agora-token")), null);

    // The catalog has a link to the login. When her session is ended elsewhere, the page says so.
    await page.getByRole("link", { name: "Products" }).click();
    await heading(page, "Products");
    await page.getByRole("link", { name: "Log in" }).click();
    await page.getByLabel("Username or email address").fill(login.identifier);
    await page.getByLabel("Password").fill(PASSWORD);
    await page.getByRole("button", { name: "Log in" }).click();
    await heading(page, "Home");
    await (await logInElsewhere()).delete("/api/users/me/sessions");
    await page.getByText("Your session has ended").waitFor();
  });
}
