// Reads the live updates of `GET /api/events`, a stream of server-sent events, with `fetch`. Resumes by itself when the
// connection is lost. Uses no API of Node.js, so that it runs in browsers as well.

import { retryAfter } from "./error.js";
import { pause } from "./pause.js";

export type Topic = "notifications" | "feed" | "public" | `post:${string}`;

export type NotificationType = "like" | "comment" | "reply" | "mention" | "follow" | "commentLike" | "report";

/** Why the service ended a stream. */
export type EndReason = "session_ended" | "token_expired" | "shutting_down" | "too_slow";

/** An event. Events carry only ids: read posts, comments and notifications through the other endpoints. */
export type LiveEvent = {
  /** The position from which to resume: the id of this event, or else of the last event with an id. */
  lastEventId: string;
} & (
  | { event: "notification"; data: { id: string; type: NotificationType; unread: number } }
  | { event: "feed" | "public"; data: { postId: string; authorId: string } }
  | { event: "comment"; data: { postId: string; commentId: string } }
  | { event: "like"; data: { postId: string; likeCount: number } }
  | { event: "post"; data: { postId: string; change: "updated" | "deleted" } }
  /** Events were lost and cannot be replayed: read again what is shown. */
  | { event: "reset"; data: Record<string, never> }
  /** The service ends the stream. The client reconnects, unless the session has ended or the token has expired for good. */
  | { event: "end"; data: { reason: EndReason } }
  /** From the client: it is connected. If it did not resume, read now what is shown: from here on no event is missed. */
  | { event: "open"; data: { resumed: boolean } }
);

export interface EventOptions {
  /** The address of the service. */
  service: string;
  /** The token of a session, or a function that returns the current one. */
  token: string | (() => string | undefined);
  topics: Topic[];
  /** Resumes after this event, of a stream that was read before. */
  lastEventId?: string;
  /**
   * Is called with the position from which another reader may resume: after an event, when the next one is requested, and also
   * while there are no events for this reader.
   */
  onPosition?: (lastEventId: string) => void;
  /** Ends the stream when it is aborted. */
  signal?: AbortSignal;
  /** Replaces the global `fetch`. */
  fetch?: typeof fetch;
}

/** The service refused the stream, and a retry would not help. */
export class StreamRefused extends Error {
  constructor(
    readonly status: number,
    body: string,
  ) {
    super(`${status}: ${body}`);
  }
}

/**
 * Yields events until the session ends, the token expires and `token` returns no other, or the signal is aborted. If the stream
 * ends otherwise, reconnects and resumes after the last event. Throws `StreamRefused`.
 *
 * Ignore events that you do not know: later versions may add some.
 */
export async function* listen(options: EventOptions): AsyncGenerator<LiveEvent, void, void> {
  const { service, token, topics, signal, onPosition, fetch = globalThis.fetch } = options;
  const address = `${service.replace(/\/$/, "")}/api/events?${new URLSearchParams({ topics: topics.join() })}`;
  let lastEventId = options.lastEventId ?? "";
  let retry = 3_000;

  while (!signal?.aborted) {
    const resumed = lastEventId !== "";
    const current = read(token);
    const headers = { Authorization: `Bearer ${current ?? ""}`, ...(resumed && { "Last-Event-ID": lastEventId }) };
    const connection = new AbortController();
    const abort = () => connection.abort();
    signal?.addEventListener("abort", abort, { signal: connection.signal });
    const timer = setTimeout(abort, MAX_SILENCE);
    let wait = retry;
    try {
      const request = new Request(address, { headers, signal: connection.signal });
      // Without a response, the network or the service is unavailable.
      const response = await fetch(request).catch(() => undefined);
      const isStream = response?.headers.get("Content-Type")?.startsWith("text/event-stream");
      if (response?.ok && isStream && response.body) {
        clearTimeout(timer);
        for await (const block of blocks(response.body)) {
          if (signal?.aborted) return;
          // A block may consist of an id alone: there was no event for this stream up to that position.
          if (block.id !== undefined) lastEventId = block.id;
          if (block.retry !== undefined) {
            // The first block of a stream.
            wait = retry = Number(block.retry);
            yield { event: "open", data: { resumed }, lastEventId };
          }
          const event = block.event !== undefined && block.data !== undefined && JSON.parse(block.data);
          const live = event && ({ event: block.event, data: event, lastEventId } as LiveEvent);
          if (live) yield live;
          // Only now, when the event was handled.
          if (block.id !== undefined) onPosition?.(lastEventId);
          if (!live || live.event !== "end") continue;
          // The token may have been renewed meanwhile.
          const renewed = read(token);
          const isExpired = live.data.reason === "token_expired" && (renewed === undefined || renewed === current);
          if (isExpired || live.data.reason === "session_ended") return;
        }
      } else if (response) {
        const body = await response.text().catch(() => "");
        // The token may have been renewed meanwhile.
        const renewed = read(token);
        const isRenewed = response.status === 401 && renewed !== undefined && renewed !== current;
        const isTemporary = response.status === 429 || response.status >= 500;
        if (!isTemporary && !isRenewed) throw new StreamRefused(response.status, body);
        wait = Math.max(retry, 1_000 * (retryAfter(response) ?? 0));
      }
    } finally {
      clearTimeout(timer);
      abort();
    }
    await pause(wait, signal);
  }
}

function read(token: EventOptions["token"]): string | undefined {
  return typeof token === "function" ? token() : token;
}

/** The milliseconds without data after which the connection is considered lost. The service sends data at least every 15 s. */
const MAX_SILENCE = 45_000;

type Block = { [field in "id" | "event" | "data" | "retry"]?: string };

/** Yields the blocks of a stream of server-sent events until it ends or breaks, and drops an incomplete one. */
async function* blocks(body: NonNullable<Response["body"]>): AsyncGenerator<Block, void, void> {
  const reader = body.getReader();
  const cancel = () => reader.cancel().catch(() => undefined);
  const decoder = new TextDecoder();
  let text = "";
  let block: Record<string, string> = {};
  try {
    for (;;) {
      const timer = setTimeout(cancel, MAX_SILENCE);
      const chunk = await reader.read().catch(() => undefined);
      clearTimeout(timer);
      if (chunk === undefined || chunk.done) return;
      const lines = (text + decoder.decode(chunk.value, { stream: true })).split(/\r?\n/);
      text = lines.pop() ?? "";
      for (const line of lines) {
        if (line === "") {
          yield block;
          block = {};
          continue;
        }
        // A line that begins with a colon is a comment.
        const [, field = "", value = ""] = /^([^:]*):? ?(.*)$/.exec(line) ?? [];
        if (field === "data" && block["data"] !== undefined) block["data"] += `\n${value}`;
        else if (field !== "") block[field] = value;
      }
    }
  } finally {
    // Closes the connection when the caller stops reading.
    await cancel();
  }
}
