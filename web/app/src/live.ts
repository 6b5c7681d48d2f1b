// Live updates: one stream for all components, since browsers limit the number of connections to a host.

import { type LiveEvent, StreamRefused, type Topic } from "@agora/client";
import { signal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { agora, expire, hasToken, me } from "../../shared/session";

/** The number of unread notifications. */
export const unread = signal(0);

/** The number of new posts since the feed, and the public timeline, were read. */
export const news = { feed: signal(0), public: signal(0) };

/** Whether events were lost, so that there may be more new posts than were counted. */
export const missed = signal(false);

interface Listener {
  topics: Topic[];
  onEvent: (event: LiveEvent) => void;
}

const listeners = new Set<Listener>();
let current: AbortController | undefined;
/** The position from which the next stream resumes, also for topics that the previous one did not have. */
let lastEventId: string | undefined;
let isScheduled = false;
/** The minimum wait before a refused stream is requested again, in milliseconds. The maximum is twice as long. */
const RETRY_WAIT = 30_000;

/** Calls back for each event of these topics, and for events about the stream itself, until the component is unmounted. */
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

/** Replaces the current stream by one for the present listeners. A hidden page has no stream. */
function renew(): void {
  if (isScheduled) return;
  isScheduled = true;
  // Once for all listeners that come and go together.
  setTimeout(() => {
    isScheduled = false;
    current?.abort();
    current = undefined;
    const topics = [...new Set([...listeners].flatMap(({ topics }) => topics))];
    if (topics.length === 0) lastEventId = undefined;
    else if (!document.hidden) {
      current = new AbortController();
      void listen(topics, current.signal);
    }
  });
}

function onPosition(position: string): void {
  lastEventId = position;
}

async function listen(topics: Topic[], ending: AbortSignal): Promise<void> {
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
    // If the post was deleted, or its id is malformed, continue with the other topics.
    const others = topics.filter((topic) => !topic.startsWith("post:"));
    const status = error instanceof StreamRefused ? error.status : undefined;
    const isForPost = status === 400 || status === 403 || status === 404;
    if (isForPost && 0 < others.length && others.length < topics.length) await listen(others, ending);
    // A proxy may have refused it. A random wait, so that not all clients reconnect at once.
    else if (status !== 401) setTimeout(() => void (ending.aborted || listen(topics, ending)), RETRY_WAIT * (1 + Math.random()));
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

/** Keeps the counts of unread notifications and new posts up to date while the user is logged in. */
export function useCounts(): void {
  // Another user may have been logged in before.
  useEffect(() => {
    unread.value = 0;
  }, []);
  useEvents(["notifications", "feed", "public"], (event) => {
    switch (event.event) {
      case "open":
        // No event tells that notifications were read in another client.
        void readUnread();
        break;
      case "reset":
        missed.value = true;
        void readUnread();
        break;
      case "notification":
        // Newer than the response to a request that was sent before.
        requests++;
        unread.value = event.data.unread;
        break;
      case "feed":
      case "public":
        if (event.data.authorId !== me.value?.id) news[event.event].value += 1;
        break;
    }
  });
}

let requests = 0;

export async function readUnread(): Promise<void> {
  const request = ++requests;
  const answer = await agora.get("/api/notifications/unread").catch(() => undefined);
  // Only the response to the last request: earlier ones may be out of date.
  if (answer && request === requests) unread.value = answer.data.count;
}
