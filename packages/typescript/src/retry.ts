import { retryAfter } from "./error.js";
import { pause } from "./pause.js";

/** The first wait is about half of this, each one after it twice as long, in milliseconds. */
const FIRST_WAIT = 500;

/** Where the service wants a longer wait than so many milliseconds, its answer is returned at once. */
const MAX_WAIT = 10_000;

/** What is refused when it was done already: the present password is another one then, and there is one export an hour. */
const ONCE = /\/api\/users\/me\/(password|email|export)$/;

/** Whether it does no harm to send a request again that may have been carried out. */
function isSafe(request: Request): boolean {
  if (request.method === "POST") return request.headers.has("Idempotency-Key");
  return !request.headers.has("If-Match") && !ONCE.test(new URL(request.url).pathname);
}

/** Returns a `fetch` that sends again, so many times at most, what got no answer or one that says to try again, where that does no harm. */
export function retrying(retries: number, fetch: typeof globalThis.fetch): (request: Request) => Promise<Response> {
  return async (request) => {
    for (let attempt = isSafe(request) ? 0 : retries; attempt < retries; attempt++) {
      // The body can be read once.
      const response = await fetch(request.clone())
        .then(request.method === "POST" ? whole : undefined)
        .catch(() => undefined);
      if (response !== undefined && !isTemporary(response)) return response;
      const backoff = FIRST_WAIT * 2 ** attempt * (0.5 + Math.random() / 2);
      const wait = Math.max(backoff, 1_000 * ((response && retryAfter(response)) ?? 0));
      if (response !== undefined && wait > MAX_WAIT) return response;
      await response?.body?.cancel();
      await pause(wait, request.signal);
      // What was aborted fails as such.
      if (request.signal.aborted) break;
    }
    return fetch(request);
  };
}

/** Reads a response to its end, before which nobody knows what was done. */
async function whole(response: Response): Promise<Response> {
  const body = await response.arrayBuffer();
  return new Response(body.byteLength > 0 ? body : null, response);
}

/** Whether the same request may succeed later. A conflict that passes is that of a request that is under way under the same key. */
function isTemporary(response: Response): boolean {
  return [429, 502, 503, 504].includes(response.status) || (response.status === 409 && response.headers.has("Retry-After"));
}
