// What happens while the page is open: one stream for all who listen, since a browser has few connections to a host.

import { type LiveEvent, StreamRefused, type Topic } from "@agora/client";
import { signal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { agora, expire, hasToken, me } from "../../shared/session";

/** How many notifications are unread. */
export const unread = signal(0);

/** How many posts came in since the feed, and the public timeline, were read. */
export const news = { feed: signal(0), public: signal(0) };

/** Whether events were missed: there may be news that are not counted. */
export const missed = signal(false);

interface Listener {
  topics: Topic[];
  onEvent: (event: LiveEvent) => void;
}

const listeners = new Set<Listener>();
let present: AbortController | undefined;
/** Where the next stream resumes: it is told what its topics missed, also those that the one before did not have. */
let lastEventId: string | undefined;
let isDue = false;
/** A stream that was refused is asked for again after so many milliseconds, or up to twice as many. */
const AGAIN = 30_000;

/** Calls back for each event about these topics, and about the stream itself, until the component is gone. */
export function useEvents(topics: Topic[], onEvent: (event: LiveEvent) => void): void {
  const callback = useRef(onEvent);
  callback.current = onEvent;
  useEffect(() => {
    const listener: Listener = { topics, onEvent: (event) => callback.current(event) };
    listeners.add(listener);
    renew();
    return () => {
      listeners.delete(listener);
      renew();
    };
  }, [topics.join()]);
}

document.addEventListener("visibilitychange", renew);

/** Opens a stream for those who listen now, in the place of the present one. Nobody looks at a page that is hidden. */
function renew(): void {
  if (isDue) return;
  isDue = true;
  // Once for all that come and go together.
  setTimeout(() => {
    isDue = false;
    present?.abort();
    present = undefined;
    const topics = [...new Set([...listeners].flatMap(({ topics }) => topics))];
    if (topics.length === 0) lastEventId = undefined;
    else if (!document.hidden) {
      present = new AbortController();
      void follow(topics, present.signal);
    }
  });
}

function onPosition(position: string): void {
  lastEventId = position;
}

async function follow(topics: Topic[], ending: AbortSignal): Promise<void> {
  const resuming = lastEventId !== undefined && { lastEventId };
  try {
    for await (const event of agora.events({ topics, signal: ending, onPosition, ...resuming })) {
      if (ending.aborted) return;
      if (event.event === "end" && event.data.reason === "session_ended" && hasToken()) expire();
      for (const listener of [...listeners]) {
        if (listener.topics.some((topic) => isAbout(event, topic))) listener.onEvent(event);
      }
    }
  } catch (error) {
    // For a post that is gone, all else goes on.
    const others = topics.filter((topic) => !topic.startsWith("post:"));
    const status = error instanceof StreamRefused ? error.status : undefined;
    const isForPost = status === 403 || status === 404;
    if (isForPost && 0 < others.length && others.length < topics.length) await follow(others, ending);
    // Something before the service may have refused it. Not all pages come back at once.
    else if (status !== 401) setTimeout(() => void (ending.aborted || follow(topics, ending)), AGAIN * (1 + Math.random()));
  }
}

function isAbout(event: LiveEvent, topic: Topic): boolean {
  switch (event.event) {
    case "notification":
      return topic === "notifications";
    case "feed":
    case "public":
      return topic === event.event;
    case "comment":
    case "like":
    case "post":
      return topic === `post:${event.data.postId}`;
    default:
      return true;
  }
}

/** Keeps the numbers of this page, as long as somebody is logged in. */
export function useNumbers(): void {
  // Those of whoever was logged in before.
  useEffect(() => {
    unread.value = 0;
  }, []);
  useEvents(["notifications", "feed", "public"], (event) => {
    switch (event.event) {
      case "open":
        // What was read at another place is not told.
        void readUnread();
        break;
      case "reset":
        missed.value = true;
        void readUnread();
        break;
      case "notification":
        unread.value = event.data.unread;
        break;
      case "feed":
      case "public":
        if (event.data.authorId !== me.value?.id) news[event.event].value += 1;
        break;
    }
  });
}

let readings = 0;

export async function readUnread(): Promise<void> {
  const reading = ++readings;
  const answer = await agora.get("/api/notifications/unread").catch(() => undefined);
  // Only the last one that was asked for: those before may not know what was read since.
  if (answer && reading === readings) unread.value = answer.data.count;
}
