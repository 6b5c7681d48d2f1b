import { retryAfter } from "./error.js";
import { pause } from "./pause.js";

/** The longest first wait, in milliseconds. Each further wait is twice as long. */
const FIRST_WAIT = 500;

/** The longest `Retry-After` to wait for, in milliseconds. If it is longer, the response is returned at once. */
const MAX_WAIT = 10_000;

/** Requests that fail if they were carried out before: the current password has changed, and there is one export an hour. */
const NOT_REPEATABLE = /\/api\/users\/me\/(password|email|export)$/;

/** Whether a request that may have been carried out can be repeated safely. */
function isSafe(request: Request): boolean {
  if (request.method === "POST") return request.headers.has("Idempotency-Key");
  return !request.headers.has("If-Match") && !NOT_REPEATABLE.test(new URL(request.url).pathname);
}

/** Returns a `fetch` that retries a request after no response or a temporary failure, if that is safe, up to `retries` times. */
export function retrying(retries: number, fetch: typeof globalThis.fetch): (request: Request) => Promise<Response> {
  return async (request) => {
    for (let attempt = isSafe(request) ? 0 : retries; attempt < retries; attempt++) {
      // A clone, since a body can be read only once.
      const response = await fetch(request.clone())
        .then(request.method === "POST" ? buffer : undefined)
        .catch(() => undefined);
      if (response !== undefined && !isTemporary(response)) return response;
      const backoff = Math.min(MAX_WAIT, FIRST_WAIT * 2 ** attempt) * (0.5 + Math.random() / 2);
      const wait = Math.max(backoff, 1_000 * ((response && retryAfter(response)) ?? 0));
      if (response !== undefined && wait > MAX_WAIT) return response;
      await response?.body?.cancel();
      await pause(wait, request.signal);
      // The last attempt fails as aborted.
      if (request.signal.aborted) break;
    }
    return fetch(request);
  };
}

/** Reads a response to its end: until then, it is not certain what the service did. */
async function buffer(response: Response): Promise<Response> {
  const body = await response.arrayBuffer();
  return new Response(body.byteLength > 0 ? body : null, response);
}

/** Whether the same request may succeed later. A 409 with `Retry-After`: a request under the same key is still in progress. */
function isTemporary(response: Response): boolean {
  return [429, 502, 503, 504].includes(response.status) || (response.status === 409 && response.headers.has("Retry-After"));
}
