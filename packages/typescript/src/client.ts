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

type Fetching = Client<paths>;
type Method = "get" | "put" | "post" | "delete";
type Path<M extends Method> = ClientPathsWithMethod<Fetching, M>;
/** A call may leave out its options where none of them is required. */
type Rest<Init> = undefined extends Init ? [Init?] : [Init];

/** What a successful call of a path returns. */
export type Body<M extends Method, P extends Path<M>, Init = {}> = MethodResponse<Fetching, M, P, Init>;

/** What the list at a path consists of. */
export type Item<P extends Path<"get">> =
  Body<"get", P> extends { data: (infer T)[] } | { products: (infer T)[] } ? T : never;

/** The paths of lists. */
type ListPath = { [P in Path<"get">]: [Item<P>] extends [never] ? never : P }[Path<"get">];

type Call<M extends Method> = <P extends Path<M>, Init extends MaybeOptionalInit<paths[P], M>>(
  path: P,
  ...init: Rest<Init>
) => Promise<Body<M, P, Init>>;

type List = <P extends ListPath, Init extends MaybeOptionalInit<paths[P], "get">>(
  path: P,
  ...init: Rest<Init>
) => AsyncGenerator<Item<P>, void, void>;

export interface Options {
  /** The address of the service, such as `https://agora.example.org`. */
  service: string;
  /** The token of a session, or what returns the one that holds at the moment. Without one, calls are anybody's. */
  token?: string | (() => string | undefined);
  /** How often a request is sent again, at most, where that is safe and may help: 3 times by default. */
  retries?: number;
  /** Connects in another way. */
  fetch?: typeof fetch;
}

/** A client of one service. Every call throws `AgoraError` when the service refuses, and what `fetch` throws without an answer. */
export interface Agora {
  get: Call<"get">;
  put: Call<"put">;
  /** Where the path takes one, the request has an `Idempotency-Key`: that of the call, or a new one. */
  post: Call<"post">;
  delete: Call<"delete">;
  /** Yields the entries of a list, page after page as they are wanted. `size` says how many are asked for at a time. */
  list: List;
  /** Yields live updates; see `listen`. */
  events(options: Omit<EventOptions, "service" | "token" | "fetch">): AsyncGenerator<LiveEvent, void, void>;
  /** The same calls, with their responses: for headers such as `ETag`. */
  readonly http: Fetching;
}

/** Makes a client. */
export function createClient(options: Options): Agora {
  const { service, retries = 3, fetch = globalThis.fetch } = options;
  const token = () => (typeof options.token === "function" ? options.token() : options.token);
  const http = createFetchClient<paths>({ baseUrl: service, fetch: retrying(retries, fetch), bodySerializer: serialize });
  http.use(middleware(token));

  /** Calls a method of the client. What it takes and returns is what the interface of ours says. */
  const call = (method: "GET" | "PUT" | "POST" | "DELETE") =>
    (async (path: string, init?: object) => {
      const { data, response } = await request(http, method, path, init);
      // What is asked for with `If-None-Match` may have no body, which only a response can say.
      if (response.status === 304) throw new TypeError("It is as it was (304): ask by `http`");
      return data;
    }) as unknown;

  async function* list(path: string, init: Init = {}): AsyncGenerator<unknown, void, void> {
    let cursor: string | undefined;
    do {
      const query = { ...init.params?.query, ...(cursor !== undefined && { cursor }) };
      const { data, response } = await request(http, "GET", path, { ...init, params: { ...init.params, query } });
      // Asked with `If-None-Match`: it is as it was.
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

function request(http: Fetching, method: string, path: string, init?: object) {
  const operation = method.toLowerCase();
  // What is no file is JSON.
  const reading = GIVES_FILE.has(`${operation} ${path}`) ? { parseAs: "blob", ...init } : init;
  return (http.request as unknown as Untyped)(operation, path, reading);
}

function middleware(token: () => string | undefined): Middleware {
  return {
    onRequest({ request, schemaPath }) {
      const present = token();
      if (present !== undefined && !request.headers.has("Authorization")) {
        request.headers.set("Authorization", `Bearer ${present}`);
      }
      const isKeyed = request.method === "POST" && TAKES_IDEMPOTENCY_KEY.has(schemaPath);
      if (isKeyed && !request.headers.has("Idempotency-Key")) {
        request.headers.set("Idempotency-Key", newIdempotencyKey());
      }
    },
    async onResponse({ response }) {
      if (response.status >= 400) throw await AgoraError.from(response);
    },
  };
}

/** Returns an `Idempotency-Key`: a word that an account does not use twice. It need not be hard to guess, and browsers have UUIDs for pages sent by TLS alone. */
export function newIdempotencyKey(): string {
  return [Date.now(), Math.random(), Math.random()].map((number) => number.toString(36)).join("-");
}

/** A form where there is a file in it, else JSON. */
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

/** Returns the cursor of the next page, which the `Link` header of a page names beside others. */
function nextCursor(link: string, service: string): string | undefined {
  for (const [, address, parameters] of link.matchAll(/<([^>]*)>([^<]*)/g)) {
    const relations = /;\s*rel="?([^";,]*)/i.exec(parameters ?? "")?.[1]?.split(/\s+/) ?? [];
    if (relations.includes("next")) return new URL(address ?? "", service).searchParams.get("cursor") ?? undefined;
  }
  return undefined;
}
