// The tour of the README, with the client of packages/typescript: run as
// `npm run tour -- http://127.0.0.1:8080` against a service that knows neither Ada nor Bob.

import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { AgoraError, createClient } from "@agora/client";

const service = process.argv[2] ?? "http://127.0.0.1:8080";

// Two people register and log in.
const anybody = createClient({ service });
async function join(username: string, password: string) {
  const email = `${username}@example.org`;
  await anybody.post("/api/auth/register", { body: { username, email, password } });
  const { token } = await anybody.post("/api/auth/login", { body: { identifier: email, password } });
  return token;
}
// `cut` stands for a network that fails.
let cut = () => {};
const ada = createClient({
  service,
  token: await join("ada", "correct horse"),
  fetch: (address, init) => {
    const connection = new AbortController();
    cut = () => connection.abort();
    init?.signal?.addEventListener("abort", cut);
    return fetch(address, { ...init, signal: connection.signal });
  },
});
const bob = createClient({ service, token: await join("bob", "battery staple") });

// A field that is not valid is named, with what is wrong about it.
const invalid = { username: "eve", email: "eve", password: "short" };
const error: unknown = await anybody.post("/api/auth/register", { body: invalid }).catch((error) => error);
assert(error instanceof AgoraError && error.code === "validation_failed");
assert.deepEqual(error.failure?.codes, { email: ["invalid_format"], password: ["too_short"] });
assert.deepEqual(error.failure?.data?.["email"], ["Email must be a valid email address"]);

// Ada publishes a post with a picture.
const bytes = Buffer.from(
  "iVBORw0KGgoAAAANSUhEUgAAAAIAAAACCAIAAAD91JpzAAAAEElEQVR42mM4YQMEJxggFAAjDgUBIzBI6wAAAABJRU5ErkJggg==",
  "base64",
);
const { data: post } = await ada.post("/api/posts/create", {
  body: { text: "Hello, Agora!", image: new Blob([bytes], { type: "image/png" }) },
});
assert.equal(post.content, "Hello, Agora!");
assert.equal(post.visibility, "PUBLIC");
assert(post.image !== null);
assert.equal((await fetch(post.image)).headers.get("Content-Type"), "image/png");

// Bob finds her by her name.
const { data: found } = await bob.get("/api/users/lookup", { params: { query: { username: "ADA" } } });
assert.equal(found.id, post.author.id);
assert.equal(found.postCount, 1);
assert.equal(found.relationship?.following, false);

// He likes her post, comments on it and follows her. A like toggles: every such request has an `Idempotency-Key`, and can be
// sent again when no answer came. The client does so by itself; under a key of one's own it can also be done after a restart.
const header = { "Idempotency-Key": randomUUID() };
const like = () => bob.http.POST("/api/posts/like/{postId}", { params: { path: { postId: post.id }, header } });
assert.equal((await like()).data?.message, "Post liked successfully");
const repeated = await like();
assert.equal(repeated.data?.message, "Post liked successfully");
assert.equal(repeated.response.headers.get("Idempotency-Replayed"), "true");
for (const content of ["Welcome", "How was the journey?", "Tell us more"]) {
  await bob.post("/api/comments/create", { body: { postId: post.id, content } });
}
const followed = await bob.post("/api/follow/follow/{followedId}", { params: { path: { followedId: found.id } } });
assert.equal(followed.message, "Followed user successfully");

// Her post is in his feed now, with his like.
const { data: feed } = await bob.get("/api/posts/following/all", { params: { query: { size: 10 } } });
assert.equal(feed[0]?.id, post.id);
assert.equal(feed[0]?.likedByMe, true);
assert.equal(feed[0]?.likeCount, 1);
assert.equal(feed[0]?.likedBy[0]?.username, "bob");

// He finds it by its words; the last one need not be whole.
const { data: posts } = await bob.get("/api/search", { params: { query: { type: "posts", q: "agora hel" } } });
assert.equal(posts[0]?.id, post.id);

// Here are its comments, page by page.
const comments: string[] = [];
const path = { postId: post.id };
for await (const { content } of ada.list("/api/comments/all/{postId}", { params: { path, query: { size: 1 } } })) {
  comments.push(content);
}
assert.deepEqual(comments, ["Welcome", "How was the journey?", "Tell us more"]);

// She answers the second one, and he likes the answer.
const { data: threads } = await ada.get("/api/posts/{postId}/comments", { params: { path, query: { order: "newest" } } });
const question = threads[1];
assert(question !== undefined);
const { data: answer } = await ada.post("/api/posts/{postId}/comments", {
  params: { path },
  body: { content: "Long, @bob", replyToId: question.id },
});
assert.equal(answer.parentId, question.id);
assert.equal(answer.entities[0]?.type, "mention");
await bob.put("/api/comments/{commentId}/like", { params: { path: { commentId: answer.id } } });
const { data: replies } = await bob.get("/api/comments/{commentId}/replies", {
  params: { path: { commentId: question.id } },
});
assert.deepEqual([replies[0]?.id, replies[0]?.likeCount, replies[0]?.likedByMe], [answer.id, 1, true]);

// What has not changed since it was read is not sent again.
const tag = (await bob.http.GET("/api/posts/by-id/{postId}", { params: { path } })).response.headers.get("ETag");
assert(tag !== null);
const same = await bob.http.GET("/api/posts/by-id/{postId}", { params: { path, header: { "If-None-Match": tag } } });
assert.equal(same.response.status, 304);

// Ada follows Bob and listens to what happens.
await ada.put("/api/follow/{followedId}", { params: { path: { followedId: question.author.id } } });
const events = ada.events({ topics: ["notifications", "feed"], signal: AbortSignal.timeout(60_000) });
const seen: string[] = [];
async function nextEvent() {
  const { value } = await events.next();
  assert(value, "no event came in time");
  seen.push(value.event);
  return value;
}
assert.equal((await nextEvent()).event, "open");

// Her connection is lost, and he comments before she is back. Once she is, she is told.
cut();
const { data: missed } = await bob.post("/api/posts/{postId}/comments", {
  params: { path },
  body: { content: "Are you there?" },
});
assert.equal((await nextEvent()).event, "open");
const told = await nextEvent();
assert(told.event === "notification");
const { data: notifications } = await ada.get("/api/notifications");
assert.equal(notifications.find(({ id }) => id === told.data.id)?.comment?.id, missed.id);

// She is told once: the next event is about his next act.
const { data: reply } = await bob.post("/api/posts/create", { body: { text: "Hello, Ada!" } });
const news = await nextEvent();
assert(news.event === "feed");
assert.equal(news.data.postId, reply.id);
await events.return();

// The catalog is public, and empty until an administrator fills it.
const { products } = await anybody.get("/api/products/findAll");
console.log(`${feed.length} post, ${comments.length} comments, ${products.length} products; events: ${seen.join(", ")}`);
