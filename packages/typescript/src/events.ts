// Reads the live updates, `GET /api/events`, with `fetch`: a stream of server-sent events. It resumes by itself after the
// connection was lost. Nothing in here is of Node.js: it runs in browsers as well.

import { retryAfter } from "./error.js";
import { pause } from "./pause.js";

export type Topic = "notifications" | "feed" | "public" | `post:${string}`;

export type NotificationType = "like" | "comment" | "reply" | "mention" | "follow" | "commentLike" | "report";

/** Why the service ended a stream. */
export type EndReason = "session_ended" | "token_expired" | "shutting_down" | "too_slow";

/** What happened. Events carry ids: what they name is read through the other endpoints. */
export type LiveEvent = {
  /** Where to resume: the id of this event, or else the last one before it. */
  lastEventId: string;
} & (
  | { event: "notification"; data: { id: string; type: NotificationType; unread: number } }
  | { event: "feed" | "public"; data: { postId: string; authorId: string } }
  | { event: "comment"; data: { postId: string; commentId: string } }
  | { event: "like"; data: { postId: string; likeCount: number } }
  | { event: "post"; data: { postId: string; change: "updated" | "deleted" } }
  /** Events were missed that cannot be had any more: read again what is shown. */
  | { event: "reset"; data: Record<string, never> }
  /** The service ends the stream. Where it is worth it, the reader comes back. */
  | { event: "end"; data: { reason: EndReason } }
  /** From the reader: it is connected. Where it did not resume, read now what is shown: from here on no event is missed. */
  | { event: "open"; data: { resumed: boolean } }
);

export interface EventOptions {
  /** The address of the service. */
  service: string;
  /** The token of a session, or what returns the one that holds at the moment. */
  token: string | (() => string | undefined);
  topics: Topic[];
  /** Resumes behind this event, of a reader that has ended. */
  lastEventId?: string;
  /** Is told where another reader may resume, also while nothing happens that concerns this one. */
  onPosition?: (lastEventId: string) => void;
  /** Ends the reader when it is aborted. */
  signal?: AbortSignal;
  /** Connects in another way. */
  fetch?: typeof fetch;
}

/** The service refuses the stream, and would again. */
export class StreamRefused extends Error {
  constructor(
    readonly status: number,
    body: string,
  ) {
    super(`${status}: ${body}`);
  }
}

/**
 * Yields events until the session has ended, or a token without a successor, or the signal is aborted. After anything else, it connects
 * again and resumes behind the last event. Throws `StreamRefused`.
 *
 * Leave alone the events that you do not know: a later version may send more.
 */
export async function* listen(options: EventOptions): AsyncGenerator<LiveEvent, void, void> {
  const { service, token, topics, signal, onPosition, fetch = globalThis.fetch } = options;
  const address = `${service.replace(/\/$/, "")}/api/events?${new URLSearchParams({ topics: topics.join() })}`;
  let lastEventId = options.lastEventId ?? "";
  let retry = 3_000;

  while (!signal?.aborted) {
    const resumed = lastEventId !== "";
    const present = read(token);
    const headers = { Authorization: `Bearer ${present ?? ""}`, ...(resumed && { "Last-Event-ID": lastEventId }) };
    const connection = new AbortController();
    const abort = () => connection.abort();
    signal?.addEventListener("abort", abort, { signal: connection.signal });
    const timer = setTimeout(abort, MAX_SILENCE);
    let wait = retry;
    try {
      const request = new Request(address, { headers, signal: connection.signal });
      // Without a response, the network or the service is away.
      const response = await fetch(request).catch(() => undefined);
      const isStream = response?.headers.get("Content-Type")?.startsWith("text/event-stream");
      if (response?.ok && isStream && response.body) {
        clearTimeout(timer);
        for await (const block of blocks(response.body)) {
          if (signal?.aborted) return;
          // A block may have nothing but an id: then nothing that concerns this stream happened up to there.
          if (block.id !== undefined) {
            lastEventId = block.id;
            onPosition?.(lastEventId);
          }
          if (block.retry !== undefined) {
            // The first block of a stream.
            wait = retry = Number(block.retry);
            yield { event: "open", data: { resumed }, lastEventId };
          }
          if (block.event === undefined || block.data === undefined) continue;
          const event = { event: block.event, data: JSON.parse(block.data), lastEventId } as LiveEvent;
          yield event;
          if (event.event !== "end") continue;
          // Of a token that expired, there may be a successor.
          const isOver = event.data.reason === "token_expired" && read(token) === present;
          if (isOver || event.data.reason === "session_ended") return;
        }
      } else if (response) {
        const body = await response.text().catch(() => "");
        // A token that was refused may have a successor.
        const now = read(token);
        const isRenewed = response.status === 401 && now !== undefined && now !== present;
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

/** The service sends something at least every 15 s. After so many milliseconds without, the connection is taken for dead. */
const MAX_SILENCE = 45_000;

type Block = { [field in "id" | "event" | "data" | "retry"]?: string };

/** Yields the blocks of a stream of server-sent events until it ends or breaks; one that is not complete does not count. */
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
    // Closes the connection when nobody reads on.
    await cancel();
  }
}
