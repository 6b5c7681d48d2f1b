// The client against a server with prepared responses.

import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:http";
import { test } from "node:test";
import { AgoraError, createClient, StreamRefused } from "@agora/client";

/** Returns a response with a status, and with headers and a body if they matter. */
const answer = (status, headers = {}, body = { success: true }) => ({ status, headers, body });
const failure = (status, code, headers = {}) =>
  answer(status, headers, { success: false, status, code, message: `This is ${code}` });
/** Closes the connection instead of responding. */
const HANG_UP = undefined;
/** Closes it after the head of a response. */
const BREAK_OFF = { ...answer(201, { "Content-Length": "1000" }), breaksOff: true };

/** Serves these responses, one after the other. Returns the address of the server, and the requests that it received. */
async function serve(context, answers) {
  const asked = [];
  const server = createServer(async (request, response) => {
    const chunks = [];
    for await (const chunk of request) chunks.push(chunk);
    asked.push({
      method: request.method,
      path: request.url,
      headers: request.headers,
      body: Buffer.concat(chunks).toString(),
    });
    const next = answers.shift();
    if (next === HANG_UP) return request.socket.destroy();
    response.writeHead(next.status, { "Content-Type": "application/json", ...next.headers });
    if (next.breaksOff) return response.write("{", () => request.socket.destroy());
    response.end(typeof next.body === "string" ? next.body : JSON.stringify(next.body));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  context.after(() => {
    server.closeAllConnections();
    server.close();
  });
  return { service: `http://127.0.0.1:${server.address().port}`, asked };
}

test("a refusal is thrown with its code and its request id", async (context) => {
  const refusal = { ...failure(400, "validation_failed").body, data: { text: ["No"] }, codes: { text: ["too_long"] } };
  const { service } = await serve(context, [answer(400, { "X-Request-Id": "abc" }, refusal)]);
  const refused = createClient({ service }).post("/api/posts/create", { body: { text: "Hello" } });
  await assert.rejects(refused, (error) => {
    assert(error instanceof AgoraError);
    assert.deepEqual(
      [error.status, error.code, error.message, error.requestId],
      [400, "validation_failed", "This is validation_failed", "abc"],
    );
    assert.deepEqual(error.failure.codes, { text: ["too_long"] });
    return true;
  });
});

test("a failure from a proxy in front of the service has no code", async (context) => {
  const page = answer(400, { "Content-Type": "text/html" }, "<h1>Bad Request</h1>");
  const { service } = await serve(context, [page, answer(400, {}, { code: 1015, message: "Slow down" })]);
  const client = createClient({ service });
  for (let request = 0; request < 2; request++) {
    await assert.rejects(client.get("/api/users/me"), ({ status, code }) => {
      assert.deepEqual([status, code], [400, undefined]);
      return true;
    });
  }
});

test("a POST without a response is retried unchanged, under the same key", async (context) => {
  const { service, asked } = await serve(context, [HANG_UP, failure(503, "unavailable"), answer(201)]);
  await createClient({ service }).post("/api/posts/create", { body: { text: "Hello" } });
  assert.equal(asked.length, 3);
  assert.equal(new Set(asked.map(({ headers }) => headers["idempotency-key"])).size, 1);
  assert(asked[0].headers["idempotency-key"].length > 16);
  assert.deepEqual(
    asked.map(({ body }) => JSON.parse(body)),
    Array(3).fill({ text: "Hello" }),
  );
});

test("a POST whose response breaks off is retried under the same key", async (context) => {
  const { service, asked } = await serve(context, [BREAK_OFF, answer(201, {}, { data: { id: "1" } })]);
  const { data } = await createClient({ service }).post("/api/posts/create", { body: { text: "Hello" } });
  assert.equal(data.id, "1");
  assert.equal(new Set(asked.map(({ headers }) => headers["idempotency-key"])).size, 1);
  assert.equal(asked.length, 2);
});

test("a file is a blob", async (context) => {
  const { service } = await serve(context, [answer(200, { "Content-Type": "application/zip" }, "PK")]);
  const file = await createClient({ service }).get("/api/users/me/export");
  assert.equal(await file.text(), "PK");
});

test("each request has a key of its own, or the one given in the call", async (context) => {
  const { service, asked } = await serve(context, [answer(200), answer(200), answer(200)]);
  const client = createClient({ service });
  const path = { postId: "1" };
  await client.post("/api/posts/like/{postId}", { params: { path } });
  await client.post("/api/posts/like/{postId}", { params: { path } });
  await client.post("/api/posts/like/{postId}", { params: { path, header: { "Idempotency-Key": "mine" } } });
  const keys = asked.map(({ headers }) => headers["idempotency-key"]);
  assert.equal(new Set(keys).size, 3);
  assert.equal(keys[2], "mine");
});

test("a request that is in progress under the same key is waited for", async (context) => {
  const underWay = failure(409, "idempotency_in_progress", { "Retry-After": "1" });
  const { service, asked } = await serve(context, [underWay, answer(201), failure(409, "username_taken")]);
  const client = createClient({ service });
  const body = { username: "ada", email: "ada@example.org", password: "correct horse" };
  await client.post("/api/auth/register", { body });
  // Any other conflict is not retried.
  await assert.rejects(client.post("/api/auth/register", { body }), { code: "username_taken" });
  assert.equal(asked.length, 3);
});

test("a body with a file must not contain what a form cannot contain", async (context) => {
  const { service, asked } = await serve(context, []);
  const body = { text: "Hello", image: new Blob(["bytes"]), mediaIds: ["1"] };
  await assert.rejects(createClient({ service }).post("/api/posts/create", { body }), /mediaIds/);
  assert.equal(asked.length, 0);
});

test("only `http` returns a 304", async (context) => {
  const { service } = await serve(context, [answer(304, {}, ""), answer(304, {}, "")]);
  const options = { params: { path: { postId: "1" }, header: { "If-None-Match": '"1"' } } };
  const client = createClient({ service });
  await assert.rejects(client.get("/api/posts/by-id/{postId}", options), /304/);
  const { response } = await client.http.GET("/api/posts/by-id/{postId}", options);
  assert.equal(response.status, 304);
});

test("a POST without a key is sent once", async (context) => {
  const { service, asked } = await serve(context, [failure(503, "unavailable"), HANG_UP]);
  const client = createClient({ service });
  const login = () => client.post("/api/auth/login", { body: { identifier: "ada", password: "correct horse" } });
  await assert.rejects(login(), { code: "unavailable" });
  await assert.rejects(login(), TypeError);
  assert.equal(asked.length, 2);
  assert.equal(asked[0].headers["idempotency-key"], undefined);
});

test("a request that would be refused the second time is sent once", async (context) => {
  const { service, asked } = await serve(context, Array(3).fill(failure(503, "unavailable")));
  const client = createClient({ service });
  const body = { currentPassword: "correct horse", newPassword: "battery staple" };
  await assert.rejects(client.put("/api/users/me/password", { body }), { code: "unavailable" });
  const params = { path: { postId: "1" }, header: { "If-Match": '"1"' } };
  const edit = client.put("/api/posts/update/{postId}", { params, body: { text: "Hello" } });
  await assert.rejects(edit, { code: "unavailable" });
  await assert.rejects(client.get("/api/users/me/export"), { code: "unavailable" });
  assert.equal(asked.length, 3);
});

test("the client gives up after the maximum number of retries", async (context) => {
  const { service, asked } = await serve(context, Array(3).fill(failure(503, "overloaded")));
  await assert.rejects(createClient({ service, retries: 1 }).get("/api/users/me"), { code: "overloaded" });
  assert.equal(asked.length, 2);
});

test("a failure with a long Retry-After is not retried", async (context) => {
  const { service, asked } = await serve(context, [failure(429, "rate_limited", { "Retry-After": "3600" })]);
  await assert.rejects(createClient({ service }).get("/api/users/me/export"), { retryAfter: 3600 });
  assert.equal(asked.length, 1);
});

test("Retry-After may be a date", async (context) => {
  const date = new Date(Date.now() + 3_600_000).toUTCString();
  const { service } = await serve(context, [failure(503, "unavailable", { "Retry-After": date })]);
  await assert.rejects(createClient({ service }).get("/api/users/me"), ({ retryAfter }) => {
    assert(retryAfter > 3500 && retryAfter <= 3600, `${retryAfter} s`);
    return true;
  });
});

test("an aborted request is not retried", async (context) => {
  const { service, asked } = await serve(context, [failure(503, "unavailable", { "Retry-After": "5" })]);
  const aborted = new AbortController();
  const answered = createClient({ service }).get("/api/users/me", { signal: aborted.signal });
  while (asked.length === 0) await new Promise(setImmediate);
  aborted.abort();
  await assert.rejects(answered, { name: "AbortError" });
  assert.equal(asked.length, 1);
});

test("a list is read to its end, and pages only as they are needed", async (context) => {
  const page = (ids, next) =>
    answer(200, next && { Link: `<http://elsewhere.example/api/users/directory?size=2&cursor=${next}>; rel="next"` }, {
      data: ids.map((id) => ({ id })),
    });
  const { service, asked } = await serve(context, [page([1, 2], "a%2Fb"), page([]), page([1, 2], "more")]);
  const client = createClient({ service, token: () => "secret" });
  const read = [];
  for await (const { id } of client.list("/api/users/directory", { params: { query: { size: 2 } } })) read.push(id);
  assert.deepEqual(read, [1, 2]);
  assert.deepEqual(
    asked.map(({ path, headers }) => [path, headers.authorization]),
    [
      ["/api/users/directory?size=2", "Bearer secret"],
      ["/api/users/directory?size=2&cursor=a%2Fb", "Bearer secret"],
    ],
  );
  for await (const { id } of client.list("/api/users/directory")) if (id === 2) break;
  assert.equal(asked.length, 3);
});

test("a list that was not modified has no entries", async (context) => {
  const { service } = await serve(context, [answer(304, {}, "")]);
  const products = createClient({ service }).list("/api/products/findAll", {
    params: { header: { "If-None-Match": '"1"' } },
  });
  assert.deepEqual(await products.next(), { value: undefined, done: true });
});

test("a body with a file is sent as a form", async (context) => {
  const { service, asked } = await serve(context, [answer(201)]);
  const image = new Blob(["bytes"], { type: "image/png" });
  await createClient({ service }).post("/api/posts/create", { body: { text: "Hello", image } });
  assert.match(asked[0].headers["content-type"], /^multipart\/form-data; boundary=/);
  assert.match(asked[0].body, /name="text"\r\n\r\nHello\r\n/);
  assert.match(asked[0].body, /name="image"; filename="image"\r\nContent-Type: image\/png\r\n\r\nbytes\r\n/);
});

test("live updates continue with a renewed token after the old one expired, and end without one", async (context) => {
  const stream = (...blocks) => answer(200, { "Content-Type": "text/event-stream" }, blocks.join("\n\n") + "\n\n");
  const expired = 'event: end\ndata: {"reason":"token_expired"}';
  const like = 'id: 7\nevent: like\ndata: {"postId":"1","likeCount":2}';
  const { service, asked } = await serve(context, [stream("retry: 1", like, expired), stream("retry: 1", expired)]);
  const tokens = ["first", "second"];
  let place = 0;
  const seen = [];
  for await (const event of createClient({ service, token: () => tokens[place] }).events({ topics: ["public"] })) {
    seen.push(event.event);
    // It is renewed before the first one expires, and then not any more.
    if (event.event === "like") place = 1;
  }
  assert.deepEqual(seen, ["open", "like", "end", "open", "end"]);
  assert.deepEqual(
    asked.map(({ headers }) => [headers.authorization, headers["last-event-id"]]),
    [
      ["Bearer first", undefined],
      ["Bearer second", "7"],
    ],
  );
});

test("live updates continue with a token that was renewed while the old one was refused", async (context) => {
  const stream = answer(200, { "Content-Type": "text/event-stream" }, "retry: 1\n\n");
  const refusal = failure(401, "unauthenticated");
  const { service, asked } = await serve(context, [stream, refusal, stream, refusal]);
  let place = 0;
  const token = () => ["first", "second"][place];
  // The token is renewed during the second request, and not during the last one.
  const renewing = (request) => fetch(request).finally(() => (place = asked.length < 2 ? 0 : 1));
  const events = createClient({ service, token, fetch: renewing }).events({ topics: ["public"] });
  assert.deepEqual([(await events.next()).value.event, (await events.next()).value.event], ["open", "open"]);
  await assert.rejects(events.next(), ({ status }) => status === 401);
  assert.deepEqual(
    asked.map(({ headers }) => headers.authorization),
    ["Bearer first", "Bearer first", "Bearer second", "Bearer second"],
  );
});

test("onPosition is called also while there are no events", async (context) => {
  const stream = answer(200, { "Content-Type": "text/event-stream" }, "retry: 1\nid: 1\n\nid: 2\n\nid: 3\n\n");
  const { service } = await serve(context, [stream, failure(403, "forbidden")]);
  const positions = [];
  const onPosition = (position) => positions.push(position);
  const events = createClient({ service, token: "secret" }).events({ topics: ["public"], onPosition });
  assert.equal((await events.next()).value.event, "open");
  await assert.rejects(events.next(), ({ status }) => status === 403);
  assert.deepEqual(positions, ["1", "2", "3"]);
});

test("the position of an event is given only after the event was handled", async (context) => {
  const like = 'id: 7\nevent: like\ndata: {"postId":"1","likeCount":2}\n\n';
  const stream = answer(200, { "Content-Type": "text/event-stream" }, `retry: 1\n\n${like}`);
  const { service } = await serve(context, [stream, failure(403, "forbidden")]);
  const positions = [];
  const onPosition = (position) => positions.push(position);
  const events = createClient({ service, token: "secret" }).events({ topics: ["public"], onPosition });
  await events.next();
  assert.equal((await events.next()).value.event, "like");
  assert.deepEqual(positions, []);
  await assert.rejects(events.next(), ({ status }) => status === 403);
  assert.deepEqual(positions, ["7"]);
});

test("live updates end when the token has expired and the user has logged out", async (context) => {
  const expired = 'retry: 1\n\nevent: end\ndata: {"reason":"token_expired"}\n\n';
  const { service, asked } = await serve(context, [answer(200, { "Content-Type": "text/event-stream" }, expired)]);
  let token = "first";
  const seen = [];
  for await (const event of createClient({ service, token: () => token }).events({ topics: ["public"] })) {
    seen.push(event.event);
    token = undefined;
  }
  assert.deepEqual([seen, asked.length], [["open", "end"], 1]);
});

test("a response that is not a stream of events throws, and so does a token that no header can contain", async (context) => {
  const page = answer(200, { "Content-Type": "text/html" }, "<h1>Log in to this network</h1>");
  const { service } = await serve(context, [page]);
  const refused = createClient({ service, token: "secret" }).events({ topics: ["public"] });
  await assert.rejects(refused.next(), StreamRefused);
  const wrong = createClient({ service, token: "two\nlines" }).events({ topics: ["public"] });
  await assert.rejects(wrong.next(), TypeError);
});
