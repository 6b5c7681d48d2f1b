// The client at /app when requests are slow or lost, data are large, or something changes elsewhere: in a browser, with a running
// service.

import assert from "node:assert/strict";
import { test } from "node:test";
import { check, heading, join, open, PASSWORD, PICTURE } from "./browser.js";

/** Opens a page, logs in, and goes to a route. */
async function windowOf(context, username, place) {
  const page = await open(context, "app", 1280);
  await logIn(page, username);
  await page.evaluate((place) => (location.hash = place), place);
  return page;
}

async function logIn(page, username) {
  await page.getByLabel("Username or email address").fill(username);
  await page.getByLabel("Password").fill(PASSWORD);
  await page.getByRole("button", { name: "Log in" }).click();
  await page.getByRole("navigation", { name: "Main" }).waitFor();
}

/** Holds matching requests until the returned function is called. */
async function hold(page, url, method) {
  let release;
  const released = new Promise((resolve) => (release = resolve));
  await page.route(url, async (route) => {
    if (route.request().method() === method) await released;
    await route.continue();
  });
  return release;
}

/** Hides a page, as if another window covered it, or shows it again. */
async function setHidden(page, isHidden) {
  await page.evaluate((isHidden) => {
    Object.defineProperty(document, "hidden", { value: isHidden, configurable: true });
    document.dispatchEvent(new Event("visibilitychange"));
  }, isHidden);
}

/** Comments on a post, or replies to a comment. Returns the ids. */
async function say(client, postId, contents, replyToId) {
  const ids = [];
  for (const content of contents) {
    const body = { content, ...(replyToId && { replyToId }) };
    ids.push((await client.post("/api/posts/{postId}/comments", { params: { path: { postId } }, body })).data.id);
  }
  return ids;
}

const numbered = (word, count) => Array.from({ length: count }, (_, n) => `${word} ${n + 1}`);

test("the result of one click stays when another one completes", async (context) => {
  const { client } = await join("clicker");
  await client.post("/api/posts/create", { body: { text: "Click me" } });
  const page = await windowOf(context, "clicker", "#/public");
  const post = page.getByRole("article").filter({ hasText: "Click me" });
  const release = await hold(page, "**/api/posts/like/*", "PUT");
  await post.getByRole("button", { name: "Like" }).click();
  await post.getByRole("button", { name: "Bookmark" }).click();
  await post.getByRole("button", { name: "Bookmark", pressed: true }).waitFor();
  release();
  await post.getByRole("button", { name: "Like, 1 like", pressed: true }).waitFor();
  assert.equal(await post.getByRole("button", { name: "Bookmark", pressed: true }).count(), 1);
});

test("a like by another user during a click is counted", async (context) => {
  const { client } = await join("liked");
  const other = await join("quick");
  const { id: postId } = (await client.post("/api/posts/create", { body: { text: "Like me" } })).data;
  const page = await windowOf(context, "liked", `#/post/${postId}`);
  const likes = (count) => page.getByRole("article", { name: "Post by liked" }).getByRole("button", { name: `Like, ${count}` });
  // Live updates arrive.
  await other.client.put("/api/posts/like/{postId}", { params: { path: { postId } } });
  await likes("1 like").waitFor();
  await other.client.delete("/api/posts/like/{postId}", { params: { path: { postId } } });
  await likes("0 likes").waitFor();
  await page.route("**/api/posts/like/*", async (route) => {
    await other.client.put("/api/posts/like/{postId}", { params: { path: { postId } } });
    await likes("1 like").waitFor();
    const response = await route.fetch();
    await likes("2 likes").waitFor();
    await route.fulfill({ response });
  });
  await likes("0 likes").click();
  await page.getByRole("button", { name: "Like", pressed: true }).waitFor();
  assert.equal(await likes("2 likes").count(), 1);
});

test("new comments appear among many, and drafts stay", async (context) => {
  const talker = await join("talker");
  await join("listener");
  const { id } = (await talker.client.post("/api/posts/create", { body: { text: "Busy" } })).data;
  const [first] = await say(talker.client, id, numbered("Comment", 105));
  await say(talker.client, id, numbered("Reply", 25), first);
  const page = await windowOf(context, "listener", `#/post/${id}`);
  const threads = page.getByRole("list", { name: "Threads" });
  const comment = (words) => threads.getByRole("article").filter({ hasText: words });

  // A comment by another user, during a draft of a reply far below.
  for (let shown = 20; shown < 105; shown += 20) {
    await page.getByRole("button", { name: "Show more" }).click();
    await comment(`Comment ${Math.max(1, 86 - shown)}`).first().waitFor();
  }
  const last = page.getByRole("listitem").filter({ has: page.getByText("Comment 1", { exact: true }) });
  await last.getByText("Reply", { exact: true }).click();
  const answer = last.getByRole("textbox", { name: "Reply to talker" });
  await answer.fill("My answer");
  await say(talker.client, id, ["Just in"]);
  await page.getByRole("button", { name: "There are new comments" }).click();
  await page.getByText("Just in", { exact: true }).waitFor();
  assert.equal(await answer.inputValue(), "My answer");

  // The user's own reply, although earlier ones are not shown yet.
  await last.getByRole("button", { name: "Send", exact: true }).click();
  await last.getByRole("button", { name: "Hide 26 replies" }).waitFor();
  const replies = last.getByRole("list", { name: "Replies to talker" }).getByRole("article");
  await replies.filter({ hasText: "My answer" }).waitFor();
  await replies.filter({ hasText: "Reply 20" }).waitFor();
  await last.getByRole("button", { name: "Show more" }).click();
  await replies.filter({ hasText: "Reply 25" }).waitFor();
  assert.deepEqual((await replies.locator(".text").allInnerTexts()).slice(-2), ["Reply 25", "My answer"]);
});

test("a comment whose response was lost is shown once", async (context) => {
  const { client } = await join("unlucky");
  const { id } = (await client.post("/api/posts/create", { body: { text: "Quiet" } })).data;
  const page = await windowOf(context, "unlucky", `#/post/${id}`);
  await page.getByText("Nobody has said anything yet.").waitFor();
  const url = "**/api/posts/*/comments";
  await page.route(url, async (route) => {
    if (route.request().method() !== "POST") return route.continue();
    await route.fetch();
    await route.fulfill({ status: 408 });
  });
  await page.getByRole("textbox", { name: "Your comment" }).fill("Once");
  const send = page.getByRole("form", { name: "Your comment" }).getByRole("button", { name: "Send" });
  await send.click();
  await page.getByRole("alert").waitFor();
  await page.getByRole("button", { name: "There are new comments" }).click();
  const comments = page.getByRole("article", { name: "Comment by unlucky" });
  await comments.waitFor();
  await page.unroute(url);
  await send.click();
  await page.waitForFunction(() => document.querySelector("textarea").value === "");
  assert.equal(await comments.count(), 1);
});

test("a comment that was deleted elsewhere, after its response was lost, can be sent again", async (context) => {
  const { client } = await join("stubborn");
  const { id: postId } = (await client.post("/api/posts/create", { body: { text: "Quiet" } })).data;
  const page = await windowOf(context, "stubborn", `#/post/${postId}`);
  await page.getByText("Nobody has said anything yet.").waitFor();
  const url = "**/api/posts/*/comments";
  await page.route(url, async (route) => {
    const { data } = await (await route.fetch()).json();
    await client.delete("/api/comments/delete/{commentId}", { params: { path: { commentId: data.id } } });
    await route.fulfill({ status: 408 });
  });
  await page.getByRole("textbox", { name: "Your comment" }).fill("Again");
  const send = page.getByRole("form", { name: "Your comment" }).getByRole("button", { name: "Send" });
  await send.click();
  await page.getByRole("alert").waitFor();
  await page.unroute(url);
  const [replayed] = await Promise.all([page.waitForResponse(url), send.click()]);
  assert.equal(replayed.status(), 404);
  await page.getByRole("alert").waitFor();
  await send.click();
  await page.getByRole("article", { name: "Comment by stubborn" }).waitFor();
});

test("drafts are kept until they are sent", async (context) => {
  const { client } = await join("writer");
  const page = await windowOf(context, "writer", "#/");
  const text = page.getByLabel("What is new?");
  const visibility = page.getByLabel("Who may see it");
  const expect = async (...values) => {
    await heading(page, "Home");
    assert.deepEqual([await text.inputValue(), await visibility.inputValue()], values);
  };
  const to = (place) => page.getByRole("navigation", { name: "Main" }).getByRole("link", { name: place }).click();

  // While the writer visits another page, and after the session has ended.
  await text.fill("A long story");
  await visibility.selectOption("PRIVATE");
  await page.getByLabel("Add pictures").setInputFiles(PICTURE);
  await page.getByLabel("What picture.png shows").fill("Two dots");
  await to("Notifications");
  await heading(page, "Notifications");
  await page.goBack();
  await expect("A long story", "PRIVATE");
  await client.delete("/api/users/me/sessions");
  await page.getByText("Your session has ended").waitFor();
  await logIn(page, "writer");
  await expect("A long story", "PRIVATE");
  assert.equal(await page.getByLabel("What picture.png shows").inputValue(), "Two dots");

  // If the response arrives while the writer is on another page, that page stays.
  const releasePost = await hold(page, "**/api/posts/create", "POST");
  await page.getByRole("button", { name: "Post", exact: true }).click();
  await to("Settings");
  await heading(page, "Settings");
  const created = page.waitForResponse("**/api/posts/create");
  releasePost();
  const { data: post } = await (await created).json();
  await heading(page, "Settings");
  await to("Home");
  await page.waitForFunction(() => document.querySelector("main textarea")?.value === "");
  await expect("", "PUBLIC");

  // What the writer adds while a comment is sent.
  await page.evaluate((id) => (location.hash = `#/post/${id}`), post.id);
  const comment = page.getByRole("textbox", { name: "Your comment" });
  await comment.fill("Chapter one");
  const release = await hold(page, "**/api/posts/*/comments", "POST");
  await page.getByRole("form", { name: "Your comment" }).getByRole("button", { name: "Send" }).click();
  await comment.fill("Chapter one and two");
  release();
  await page.getByRole("article", { name: "Comment by writer" }).waitFor();
  await page.locator("form[aria-label='Your comment'] button[aria-disabled='false']").waitFor();
  assert.equal(await comment.inputValue(), "Chapter one and two");
});

test("an edit is kept when the session ends, and changes only what was edited", async (context) => {
  const { client } = await join("editor");
  const { id: postId } = (await client.post("/api/posts/create", { body: { text: "First" } })).data;
  await say(client, postId, ["One"]);
  const page = await windowOf(context, "editor", `#/post/${postId}`);
  const post = page.getByRole("article", { name: "Post by editor" });
  const comment = page.getByRole("article", { name: "Comment by editor" });
  await post.getByRole("button", { name: "Edit" }).click();
  await post.getByLabel("Text").fill("First and second");
  await comment.getByRole("button", { name: "Edit" }).click();
  await comment.getByLabel("Edit this comment").last().fill("One and two");
  await client.delete("/api/users/me/sessions");
  await page.getByText("Your session has ended").waitFor();
  await logIn(page, "editor");
  await comment.getByRole("button", { name: "Edit" }).click();
  assert.equal(await comment.getByLabel("Edit this comment").last().inputValue(), "One and two");
  await post.getByRole("button", { name: "Edit" }).click();
  assert.equal(await post.getByLabel("Text").inputValue(), "First and second");
  await post.getByRole("button", { name: "Cancel" }).click();

  // Another client changes the text while this one changes the visibility.
  await post.getByRole("button", { name: "Edit" }).click();
  assert.equal(await post.getByLabel("Text").inputValue(), "First");
  await post.getByLabel("Who may see it").selectOption("PRIVATE");
  await client.put("/api/posts/update/{postId}", { params: { path: { postId } }, body: { text: "Changed elsewhere" } });
  await post.getByRole("button", { name: "Save" }).click();
  await post.getByText("Changed elsewhere").waitFor();
  const { data } = await client.get("/api/posts/by-id/{postId}", { params: { path: { postId } } });
  assert.deepEqual([data.content, data.visibility], ["Changed elsewhere", "PRIVATE"]);
});

test("a post whose picture is still being uploaded is published once", async (context) => {
  const { client, id: userId } = await join("hasty");
  const page = await windowOf(context, "hasty", "#/");
  const to = (place) => page.getByRole("navigation", { name: "Main" }).getByRole("link", { name: place }).click();
  const send = () => page.getByRole("button", { name: "Post", exact: true }).click();
  await page.getByLabel("What is new?").fill("A picture");
  await page.getByLabel("Add pictures").setInputFiles(PICTURE);
  const uploads = [];
  page.on("request", (request) => request.url().endsWith("/api/media") && uploads.push(request));
  const release = await hold(page, "**/api/media", "POST");
  await send();
  await to("Public");
  await heading(page, "Public");
  await to("Home");
  await send();
  release();
  await page.waitForFunction(() => document.querySelector("main textarea")?.value === "");
  const { data } = await client.get("/api/posts/user/{userId}", { params: { path: { userId } } });
  assert.deepEqual([data.length, uploads.length], [1, 1]);
});

test("older notifications below a newest one that was read are marked as read", async (context) => {
  const [ada, ben, cleo] = await Promise.all(["marker", "liker", "critic"].map(join));
  const { id: postId } = (await ada.client.post("/api/posts/create", { body: { text: "Read me" } })).data;
  const path = { params: { path: { postId } } };
  await ben.client.put("/api/posts/like/{postId}", path);
  await ben.client.delete("/api/posts/like/{postId}", path);
  await say(cleo.client, postId, ["A comment"]);
  const { data } = await ada.client.get("/api/notifications");
  await ada.client.put("/api/notifications/read", { body: { upTo: data[0].id, updatedAt: data[0].updatedAt } });
  // Counted again at its place of before, unread.
  await ben.client.put("/api/posts/like/{postId}", path);
  assert.equal((await ada.client.get("/api/notifications/unread")).data.count, 1);
  const page = await windowOf(context, "marker", "#/notifications");
  assert.equal((await page.waitForResponse("**/api/notifications/read")).status(), 200);
  assert.equal((await ada.client.get("/api/notifications/unread")).data.count, 0);
});

test("live updates resume after the stream was refused once", async (context) => {
  const { client, id } = await join("watcher");
  const friend = await join("watched");
  await client.put("/api/follow/{followedId}", { params: { path: { followedId: friend.id } } });
  const page = await open(context, "app", 1280);
  await page.clock.install();
  const streams = "**/api/events?*";
  await page.route(streams, (route) => route.fulfill({ status: 404, contentType: "text/html", body: "Not found" }), { times: 1 });
  const refused = page.waitForResponse(streams);
  await logIn(page, "watcher");
  await refused;
  let isDone = false;
  const retried = page.waitForRequest(streams).finally(() => (isDone = true));
  // In steps that are shorter than the silence after which the client closes a stream.
  while (!isDone) await page.clock.fastForward(10_000);
  assert.equal((await (await retried).response()).status(), 200);
  await friend.client.post("/api/posts/create", { body: { text: "News" } });
  await page.getByRole("button", { name: "Show 1 new post" }).click();

  // Notifications that were read in another client are not unread any more once the window is shown again.
  await friend.client.put("/api/follow/{followedId}", { params: { path: { followedId: id } } });
  await page.getByRole("link", { name: "Notifications 1 unread" }).waitFor();
  await setHidden(page, true);
  const { data } = await client.get("/api/notifications");
  await client.put("/api/notifications/read", { body: { upTo: data[0].id, updatedAt: data[0].updatedAt } });
  await setHidden(page, false);
  await page.getByRole("link", { name: "Notifications", exact: true }).waitFor();
});

test("relative times are updated while they are shown", async (context) => {
  const { client, id } = await join("timer");
  await client.post("/api/posts/create", { body: { text: "Just now" } });
  const page = await open(context, "app", 1280);
  await page.clock.install();
  await page.reload();
  await logIn(page, "timer");
  await page.evaluate((id) => (location.hash = `#/user/${id}`), id);
  const time = page.getByRole("article", { name: "Post by timer" }).getByRole("time");
  await time.filter({ hasText: "now" }).waitFor();
  await page.clock.fastForward(5 * 60_000);
  await time.filter({ hasText: "5 min. ago" }).waitFor();
});

test("the token is renewed before the page is suspended, and after", async (context) => {
  await join("sleeper");
  const page = await windowOf(context, "sleeper", "#/settings");
  await page.clock.install();
  const renewed = () => page.waitForResponse("**/api/auth/refresh");
  for (const [isHidden, minutes] of [
    [true, 2],
    [false, 50],
  ]) {
    // The timers of the page do not run meanwhile.
    await page.clock.setSystemTime(Date.now() + minutes * 60_000);
    const [answer] = await Promise.all([renewed(), setHidden(page, isHidden)]);
    assert.equal(answer.status(), 200);
  }
});

test("the author of a post deletes a comment by another user", async (context) => {
  const author = await join("host");
  const guest = await join("guest");
  const { id } = (await author.client.post("/api/posts/create", { body: { text: "My house" } })).data;
  await say(guest.client, id, ["Rubbish"]);
  const page = await windowOf(context, "host", `#/post/${id}`);
  const comment = page.getByRole("article", { name: "Comment by guest" });
  await comment.getByText("Delete", { exact: true }).click();
  await comment.getByRole("button", { name: "Delete this comment for good" }).click();
  await page.getByText("Nobody has said anything yet.").waitFor();
  assert.deepEqual((await guest.client.get("/api/posts/{postId}/comments", { params: { path: { postId: id } } })).data, []);
});

test("the page of a user shows more after a follow, and less after an unfollow", async (context) => {
  await join("follower");
  const { client, id } = await join("private");
  await client.post("/api/posts/create", { body: { text: "Among friends", visibility: "FOLLOWERS" } });
  const page = await windowOf(context, "follower", `#/user/${id}/followers`);
  await page.getByText("Only the user and the user's followers may read this list").waitFor();
  await check(page, "forbidden");
  assert.deepEqual(
    [await page.getByRole("alert").count(), await page.getByRole("button", { name: "Try again" }).count()],
    [0, 0],
  );
  await page.getByRole("button", { name: "Follow private" }).click();
  await page.getByRole("list", { name: "Followers" }).getByText("@follower").waitFor();
  await page.getByRole("button", { name: "Unfollow private" }).click();
  await page.getByText("Only the user and the user's followers may read this list").waitFor();
  await page.getByRole("link", { name: "0 posts" }).click();
  await page.getByRole("button", { name: "Follow private" }).click();
  await page.getByRole("link", { name: "1 post" }).waitFor();
  await page.getByText("Among friends").waitFor();
});

test("the focus stays near the entry that a user of the keyboard works on", async (context) => {
  const { client, id } = await join("typist");
  for (const text of ["First", "Second"]) await client.post("/api/posts/create", { body: { text } });
  const page = await windowOf(context, "typist", "#/search");
  const focused = () => page.evaluate(() => document.activeElement?.getAttribute("name") ?? document.activeElement?.textContent);
  const words = page.getByRole("searchbox");
  await words.fill("nothing like it");
  await words.press("Enter");
  await page.getByRole("status").filter({ hasText: "Nothing was found." }).waitFor();
  assert.equal(await focused(), "q");
  // The form shows the current query, also after going back.
  await page.goBack();
  await page.getByRole("heading", { name: "New here" }).waitFor();
  await page.waitForFunction(() => document.querySelector("[name=q]").value === "");

  await page.evaluate((id) => (location.hash = `#/user/${id}`), id);
  const remove = async (text) => {
    const post = page.getByRole("article").filter({ hasText: text });
    await post.getByText("Delete", { exact: true }).click();
    await post.getByRole("button", { name: "Delete this post for good" }).press("Enter");
    await post.waitFor({ state: "detached" });
  };
  await remove("Second");
  assert.match(await focused(), /First/);
  await remove("First");
  assert.equal(await focused(), "typist");

  // Buttons that disappear when they are pressed.
  const { id: postId } = (await client.post("/api/posts/create", { body: { text: "Long" } })).data;
  await say(client, postId, numbered("Comment", 21));
  await page.evaluate((id) => (location.hash = `#/post/${id}`), postId);
  await page.getByRole("button", { name: "Show more" }).press("Enter");
  await page.getByText("Comment 1", { exact: true }).waitFor();
  assert.match(await focused(), /Comment 1\D/);
  for (const blocked of await Promise.all([join("pest"), join("bore")])) {
    await client.put("/api/users/{userId}/block", { params: { path: { userId: blocked.id } } });
  }
  await page.evaluate(() => (location.hash = "#/settings"));
  await page.getByText("Blocked", { exact: true }).click();
  const unblock = (name) => page.getByRole("button", { name: `Unblock ${name}` });
  await unblock("pest").press("Enter");
  await unblock("pest").waitFor({ state: "detached" });
  assert.match(await focused(), /bore/);
  await unblock("bore").press("Enter");
  await unblock("bore").waitFor({ state: "detached" });
  assert.equal(await focused(), "Settings");
});

test("forms are emptied after success, and errors name the refused file", async (context) => {
  const { client } = await join("changer");
  const page = await windowOf(context, "changer", "#/");
  const named = (...names) => names.map((name) => ({ ...PICTURE, name }));
  await page.getByLabel("Add pictures").setInputFiles(named("1.png", "2.png", "3.png", "4.png", "5.png", "6.png"));
  await page.getByRole("alert").filter({ hasText: "5.png, 6.png" }).waitFor();
  for (const n of [2, 3, 4]) await page.getByRole("button", { name: `Remove ${n}.png` }).click();
  const large = { ...PICTURE, name: "large.png", buffer: Buffer.concat([PICTURE.buffer, Buffer.alloc(6 << 20)]) };
  await page.getByLabel("Add pictures").setInputFiles(large);
  await page.getByRole("button", { name: "Post", exact: true }).click();
  await page.getByRole("alert").filter({ hasText: "large.png: image must be at most 5 MiB" }).waitFor();

  // A mention in an edited comment becomes a link.
  const { id } = (await client.post("/api/posts/create", { body: { text: "Hello" } })).data;
  await say(client, id, ["Plain"]);
  await page.evaluate((id) => (location.hash = `#/post/${id}`), id);
  const comment = page.getByRole("article", { name: "Comment by changer" });
  await comment.getByRole("button", { name: "Edit" }).click();
  await comment.getByLabel("Edit this comment").last().fill("To @changer");
  await comment.getByRole("form", { name: "Edit this comment" }).getByRole("button", { name: "Send" }).click();
  await comment.getByRole("link", { name: "@changer", exact: true }).waitFor();

  await page.evaluate(() => (location.hash = "#/settings"));
  const picture = page.getByLabel("Picture", { exact: true });
  await picture.setInputFiles(PICTURE);
  await page.getByRole("button", { name: "Save profile" }).click();
  await page.getByText("Saved.").waitFor();
  assert.equal(await picture.inputValue(), "");
  await page.getByText("Change your password", { exact: true }).click();
  await page.getByLabel("Current password").fill(PASSWORD);
  await page.getByLabel("New password").fill(`${PASSWORD} 2`);
  await page.getByRole("button", { name: "Change password" }).click();
  await page.getByText("All other sessions have ended.").waitFor();
  assert.deepEqual(
    [await page.getByLabel("Current password").inputValue(), await page.getByLabel("New password").inputValue()],
    ["", ""],
  );
});
