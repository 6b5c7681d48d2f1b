// What happens while the page is open.

import { type LiveEvent, type Topic } from "@agora/client";
import { signal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { agora, me } from "../../shared/session";

/** How many notifications are unread. */
export const unread = signal(0);

/** How many posts came in since the feed, and the public timeline, were read. */
export const news = { feed: signal(0), public: signal(0) };

/** Calls back for each event about these topics, until the component is gone. */
export function useEvents(topics: Topic[], onEvent: (event: LiveEvent) => void): void {
  const callback = useRef(onEvent);
  callback.current = onEvent;
  useEffect(() => {
    const ending = new AbortController();
    void follow(topics, ending.signal, (event) => callback.current(event));
    return () => ending.abort();
  }, [topics.join()]);
}

async function follow(topics: Topic[], ending: AbortSignal, onEvent: (event: LiveEvent) => void): Promise<void> {
  try {
    for await (const event of agora.events({ topics, signal: ending })) onEvent(event);
  } catch {
    // It is refused: the page shows what it shows when it is read anew.
  }
}

/** Keeps the numbers of this page, as long as somebody is logged in. */
export function useNumbers(): void {
  useEvents(["notifications", "feed", "public"], (event) => {
    switch (event.event) {
      case "open":
        if (!event.data.resumed) void readUnread();
        break;
      case "reset":
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

async function readUnread(): Promise<void> {
  const answer = await agora.get("/api/notifications/unread").catch(() => undefined);
  if (answer) unread.value = answer.data.count;
}
