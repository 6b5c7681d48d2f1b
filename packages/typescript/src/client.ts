import createFetchClient, {
  type Client,
  type ClientPathsWithMethod,
  type MaybeOptionalInit,
  type MethodResponse,
  type Middleware,
} from "openapi-fetch";
import { GIVES_FILE, type paths, TAKES_IDEMPOTENCY_KEY } from "./document.js";
import { AgoraError } from "./error.js";
import { type EventOptions, type LiveEvent, listen } from "./events.js";
import { retrying } from "./retry.js";

type FetchClient = Client<paths>;
type Method = "get" | "put" | "post" | "delete";
type Path<M extends Method> = ClientPathsWithMethod<FetchClient, M>;
/** The options of a call, which may be omitted if none of them is required. */
type InitArgument<Init> = undefined extends Init ? [Init?] : [Init];

/** The body of a successful response. */
export type Body<M extends Method, P extends Path<M>, Init = {}> = MethodResponse<FetchClient, M, P, Init>;

/** The type of the entries of the list at a path. */
export type Item<P extends Path<"get">> =
  Body<"get", P> extends { data: (infer T)[] } | { products: (infer T)[] } ? T : never;

/** The paths of lists. */
type ListPath = { [P in Path<"get">]: [Item<P>] extends [never] ? never : P }[Path<"get">];

type Call<M extends Method> = <P extends Path<M>, Init extends MaybeOptionalInit<paths[P], M>>(
  path: P,
  ...init: InitArgument<Init>
) => Promise<Body<M, P, Init>>;

type List = <P extends ListPath, Init extends MaybeOptionalInit<paths[P], "get">>(
  path: P,
  ...init: InitArgument<Init>
) => AsyncGenerator<Item<P>, void, void>;

export interface Options {
  /** The address of the service, such as `https://agora.example.org`. */
  service: string;
  /** The token of a session, or a function that returns the current one. Without a token, calls are anonymous. */
  token?: string | (() => string | undefined);
  /** The maximum number of retries of a request, if a retry is safe and may succeed: 3 by default. */
  retries?: number;
  /** Replaces the global `fetch`. */
  fetch?: typeof fetch;
}

/** A client of one service. A call throws an `AgoraError` for a failure, and the error of `fetch` if there is no response. */
export interface Agora {
  get: Call<"get">;
  put: Call<"put">;
  /** If the path accepts an `Idempotency-Key`, the request has one: that of the call, or a new one. */
  post: Call<"post">;
  delete: Call<"delete">;
  /** Yields the entries of a list. Requests each page when it is needed; `size` is the number of entries of a page. */
  list: List;
  /** Yields live updates; see `listen`. */
  events(options: Omit<EventOptions, "service" | "token" | "fetch">): AsyncGenerator<LiveEvent, void, void>;
  /** The same calls, but they return the responses as well: for headers such as `ETag`. */
  readonly http: FetchClient;
}

/** Creates a client. */
export function createClient(options: Options): Agora {
  const { service, retries = 3, fetch = globalThis.fetch } = options;
  const token = () => (typeof options.token === "function" ? options.token() : options.token);
  const http = createFetchClient<paths>({ baseUrl: service, fetch: retrying(retries, fetch), bodySerializer: serialize });
  http.use(middleware(token));

  /** Returns a function that sends requests with this method. `Agora` declares the types of its parameters and its result. */
  const call = (method: "GET" | "PUT" | "POST" | "DELETE") =>
    (async (path: string, init?: object) => {
      const { data, response } = await request(http, method, path, init);
      // The response to a request with `If-None-Match` may have no body.
      if (response.status === 304) throw new TypeError("Not modified (304): use `http` for conditional requests");
      return data;
    }) as unknown;

  async function* list(path: string, init: Init = {}): AsyncGenerator<unknown, void, void> {
    let cursor: string | undefined;
    do {
      const query = { ...init.params?.query, ...(cursor !== undefined && { cursor }) };
      const { data, response } = await request(http, "GET", path, { ...init, params: { ...init.params, query } });
      // Not modified, after a request with `If-None-Match`.
      if (response.status === 304) return;
      const page = data as { data?: unknown[]; products?: unknown[] };
      yield* page.data ?? page.products ?? [];
      cursor = nextCursor(response.headers.get("Link") ?? "", service);
    } while (cursor !== undefined);
  }

  return {
    get: call("GET") as Call<"get">,
    put: call("PUT") as Call<"put">,
    post: call("POST") as Call<"post">,
    delete: call("DELETE") as Call<"delete">,
    list: list as unknown as List,
    events: (events) => listen({ ...events, service, token, fetch }),
    http,
  };
}

interface Init {
  params?: { query?: object };
}

type Untyped = (method: string, path: string, init?: object) => Promise<{ data?: unknown; response: Response }>;

function request(http: FetchClient, method: string, path: string, init?: object) {
  const operation = method.toLowerCase();
  // Responses that are not files are JSON.
  const options = GIVES_FILE.has(`${operation} ${path}`) ? { parseAs: "blob", ...init } : init;
  return (http.request as unknown as Untyped)(operation, path, options);
}

function middleware(token: () => string | undefined): Middleware {
  return {
    onRequest({ request, schemaPath }) {
      const current = token();
      if (current !== undefined && !request.headers.has("Authorization")) {
        request.headers.set("Authorization", `Bearer ${current}`);
      }
      const acceptsKey = request.method === "POST" && TAKES_IDEMPOTENCY_KEY.has(schemaPath);
      if (acceptsKey && !request.headers.has("Idempotency-Key")) {
        request.headers.set("Idempotency-Key", newIdempotencyKey());
      }
    },
    async onResponse({ response }) {
      if (response.status >= 400) throw await AgoraError.from(response);
    },
  };
}

/**
 * Returns a new `Idempotency-Key`, which is unique within an account. It need not be hard to guess, and browsers have
 * `crypto.randomUUID` only on pages that were sent over TLS.
 */
export function newIdempotencyKey(): string {
  return [Date.now(), Math.random(), Math.random()].map((number) => number.toString(36)).join("-");
}

/** Encodes a body as a form if it contains a file, else as JSON. */
function serialize(body: unknown): FormData | string {
  const fields = Object.entries(body ?? {});
  if (!fields.some(([, value]) => value instanceof Blob)) return JSON.stringify(body);
  const form = new FormData();
  for (const [name, value] of fields) {
    if (value instanceof Blob) form.append(name, value, name);
    else if (typeof value === "object") throw new TypeError(`${name} cannot be sent beside a file`);
    else if (value !== undefined) form.append(name, String(value));
  }
  return form;
}

/** Returns the cursor of the next page from a `Link` header, which names other pages as well. */
function nextCursor(link: string, service: string): string | undefined {
  for (const [, address, parameters] of link.matchAll(/<([^>]*)>([^<]*)/g)) {
    const relations = /;\s*rel="?([^";,]*)/i.exec(parameters ?? "")?.[1]?.split(/\s+/) ?? [];
    if (relations.includes("next")) return new URL(address ?? "", service).searchParams.get("cursor") ?? undefined;
  }
  return undefined;
}
