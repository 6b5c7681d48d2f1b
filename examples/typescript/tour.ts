// The tour of the README, with a client whose types are generated from the OpenAPI document: run as
// `npm run tour -- http://127.0.0.1:8080` against a service that knows neither Ada nor Bob.

import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import createClient from "openapi-fetch";
import type { components, paths } from "./agora.js";
import { listen } from "./events.js";

type Failure = components["schemas"]["Failure"];

const service = process.argv[2] ?? "http://127.0.0.1:8080";

/** A client of the service; with a token, one that calls as somebody. */
function client(token?: string) {
  const headers = token === undefined ? {} : { Authorization: `Bearer ${token}` };
  return createClient<paths>({ baseUrl: service, headers });
}

/** A failure, as an exception. */
class Refused extends Error {
  constructor(readonly failure: Failure) {
    super(`${failure.status}: ${failure.message}`);
  }
}

/** What a call that is meant to succeed returns. */
function expect<T>(answer: { data?: T; error?: Failure }): NonNullable<T> {
  if (answer.error !== undefined) throw new Refused(answer.error);
  assert(answer.data !== undefined && answer.data !== null);
  return answer.data;
}

/** A form, from the fields that are there. Bodies of type `multipart/form-data` are sent with it. */
function form(fields: object): FormData {
  const form = new FormData();
  for (const [name, value] of Object.entries(fields)) {
    if (value instanceof Blob) form.append(name, value, name);
    else if (value !== undefined) form.append(name, String(value));
  }
  return form;
}

/** The cursor of the next page, which the `Link` header of a page names beside others. */
function nextCursor(response: Response): string | undefined {
  for (const [, address, parameters] of (response.headers.get("Link") ?? "").matchAll(/<([^>]*)>([^<]*)/g)) {
    const relations = /;\s*rel="?([^";,]*)/i.exec(parameters ?? "")?.[1]?.split(/\s+/) ?? [];
    if (relations.includes("next")) return new URL(address ?? "", service).searchParams.get("cursor") ?? undefined;
  }
  return undefined;
}

// Two people register and log in.
const anybody = client();
async function join(username: string, password: string) {
  const email = `${username}@example.org`;
  expect(await anybody.POST("/api/auth/register", { body: { username, email, password } }));
  const { token } = expect(await anybody.POST("/api/auth/login", { body: { identifier: email, password } }));
  return token;
}
const adasToken = await join("ada", "correct horse");
const ada = client(adasToken);
const bob = client(await join("bob", "battery staple"));

// A field that is not valid is named, with what is wrong about it.
const invalid = await anybody.POST("/api/auth/register", { body: { username: "eve", email: "eve", password: "short" } });
assert(invalid.error?.data !== undefined);
assert.deepEqual(Object.keys(invalid.error.data).sort(), ["email", "password"]);
assert.deepEqual(invalid.error.data["email"], ["Email must be a valid email address"]);

// Ada publishes a post with a picture.
const bytes = Buffer.from(
  "iVBORw0KGgoAAAANSUhEUgAAAAIAAAACCAIAAAD91JpzAAAAEElEQVR42mM4YQMEJxggFAAjDgUBIzBI6wAAAABJRU5ErkJggg==",
  "base64",
);
const { data: post } = expect(
  await ada.POST("/api/posts/create", {
    body: { text: "Hello, Agora!", image: new Blob([bytes], { type: "image/png" }) },
    bodySerializer: form,
  }),
);
assert.equal(post.content, "Hello, Agora!");
assert.equal(post.visibility, "PUBLIC");
assert(post.image !== null);
assert.equal((await fetch(post.image)).headers.get("Content-Type"), "image/png");

// Bob finds her by her name.
const { data: found } = expect(await bob.GET("/api/users/lookup", { params: { query: { username: "ADA" } } }));
assert.equal(found.id, post.author.id);
assert.equal(found.postCount, 1);
assert.equal(found.relationship?.following, false);

// He likes her post, comments on it and follows her. A like toggles: under a key it can be sent again, when no answer came.
const key = randomUUID();
const like = () =>
  bob.POST("/api/posts/like/{postId}", { params: { path: { postId: post.id }, header: { "Idempotency-Key": key } } });
assert.equal(expect(await like()).message, "Post liked successfully");
const repeated = await like();
assert.equal(expect(repeated).message, "Post liked successfully");
assert.equal(repeated.response.headers.get("Idempotency-Replayed"), "true");
for (const content of ["Welcome", "How was the journey?", "Tell us more"]) {
  expect(await bob.POST("/api/comments/create", { body: { postId: post.id, content } }));
}
const followed = await bob.POST("/api/follow/follow/{followedId}", { params: { path: { followedId: found.id } } });
assert.equal(expect(followed).message, "Followed user successfully");

// Her post is in his feed now, with his like.
const { data: feed } = expect(await bob.GET("/api/posts/following/all", { params: { query: { size: 10 } } }));
assert.equal(feed[0]?.id, post.id);
assert.equal(feed[0]?.likedByMe, true);
assert.equal(feed[0]?.likeCount, 1);
assert.equal(feed[0]?.likedBy[0]?.username, "bob");

// He finds it by its words; the last one need not be whole.
const { data: posts } = expect(await bob.GET("/api/search", { params: { query: { type: "posts", q: "agora hel" } } }));
assert.equal(posts[0]?.id, post.id);

// Here are its comments, page by page.
const comments: string[] = [];
let cursor: string | undefined;
do {
  const query = { size: 1, ...(cursor !== undefined && { cursor }) };
  const page = await ada.GET("/api/comments/all/{postId}", { params: { path: { postId: post.id }, query } });
  comments.push(...expect(page).data.map((comment) => comment.content));
  cursor = nextCursor(page.response);
} while (cursor !== undefined);
assert.deepEqual(comments, ["Welcome", "How was the journey?", "Tell us more"]);

// She answers the second one, and he likes the answer.
const { data: threads } = expect(
  await ada.GET("/api/posts/{postId}/comments", { params: { path: { postId: post.id }, query: { order: "newest" } } }),
);
const question = threads[1];
assert(question !== undefined);
const { data: answer } = expect(
  await ada.POST("/api/posts/{postId}/comments", {
    params: { path: { postId: post.id } },
    body: { content: "Long, @bob", replyToId: question.id },
  }),
);
assert.equal(answer.parentId, question.id);
assert.equal(answer.entities[0]?.type, "mention");
expect(await bob.PUT("/api/comments/{commentId}/like", { params: { path: { commentId: answer.id } } }));
const { data: replies } = expect(
  await bob.GET("/api/comments/{commentId}/replies", { params: { path: { commentId: question.id } } }),
);
assert.deepEqual([replies[0]?.id, replies[0]?.likeCount, replies[0]?.likedByMe], [answer.id, 1, true]);

// What has not changed since it was read is not sent again.
const readPost = (tag?: string) =>
  bob.GET("/api/posts/by-id/{postId}", {
    params: { path: { postId: post.id }, ...(tag !== undefined && { header: { "If-None-Match": tag } }) },
  });
const tag = (await readPost()).response.headers.get("ETag");
assert(tag !== null);
assert.equal((await readPost(tag)).response.status, 304);

// Ada follows Bob and listens to what happens. `cut` stands for a network that fails.
expect(await ada.PUT("/api/follow/{followedId}", { params: { path: { followedId: question.author.id } } }));
let cut = () => {};
const events = listen({
  service,
  token: adasToken,
  topics: ["notifications", "feed"],
  signal: AbortSignal.timeout(60_000),
  fetch: (address, init) => {
    const connection = new AbortController();
    cut = () => connection.abort();
    init?.signal?.addEventListener("abort", cut);
    return fetch(address, { ...init, signal: connection.signal });
  },
});
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
const { data: missed } = expect(
  await bob.POST("/api/posts/{postId}/comments", {
    params: { path: { postId: post.id } },
    body: { content: "Are you there?" },
  }),
);
assert.equal((await nextEvent()).event, "open");
const told = await nextEvent();
assert(told.event === "notification");
const { data: notifications } = expect(await ada.GET("/api/notifications"));
assert.equal(notifications.find(({ id }) => id === told.data.id)?.comment?.id, missed.id);

// She is told once: the next event is about his next act.
const { data: reply } = expect(await bob.POST("/api/posts/create", { body: { text: "Hello, Ada!" } }));
const news = await nextEvent();
assert(news.event === "feed");
assert.equal(news.data.postId, reply.id);
await events.return();

// The catalog is public, and empty until an administrator fills it.
const { products } = expect(await anybody.GET("/api/products/findAll"));
console.log(`${feed.length} post, ${comments.length} comments, ${products.length} products; events: ${seen.join(", ")}`);
