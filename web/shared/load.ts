// Loads data and lists for pages, and sends requests so that they take effect once.

import { AgoraError, newIdempotencyKey } from "@agora/client";
import { useEffect, useRef, useState } from "preact/hooks";
import { errorMessage } from "./words";

/** Returns the changed value. Its argument is the current value, which may have changed since it was shown. */
export type Change<T> = (now: T) => T;

/** Data from the service: `data` is undefined until it is loaded, `error` is empty unless loading failed. */
export interface Loaded<T> {
  data: T | undefined;
  error: string;
  /** Changes the data here, after it was changed at the service. */
  change: (change: Change<T>) => void;
  reload: () => void;
}

/** Loads data, and reloads it whenever one of `inputs` changes. */
export function useLoaded<T>(read: () => Promise<T>, inputs: unknown[]): Loaded<T> {
  const [state, setState] = useState<{ data: T | undefined; error: string }>({ data: undefined, error: "" });
  const [turn, setTurn] = useState(0);
  const changes = useRef(0);
  useEffect(() => {
    let isCurrent = true;
    const before = changes.current;
    read().then(
      (data) => {
        if (!isCurrent) return;
        // The response may not include what was changed here meanwhile.
        if (changes.current === before) setState({ data, error: "" });
        else setTurn((turn) => turn + 1);
      },
      // Keeps the data that is shown.
      (error: unknown) => isCurrent && setState(({ data }) => ({ data, error: errorMessage(error) })),
    );
    return () => {
      isCurrent = false;
    };
  }, [...inputs, turn]);
  const change = (change: Change<T>) => {
    changes.current += 1;
    setState((now) => (now.data === undefined ? now : { data: change(now.data), error: "" }));
  };
  return { ...state, change, reload: () => setTurn((turn) => turn + 1) };
}

/** The number of entries of a list that are shown at first, and by which `more` extends it. */
const PAGE_SIZE = 20;

/** The maximum number of entries that a reload reads at once. */
const MAX_RELOADED = 100;

/** A list that is loaded part by part. */
export interface LoadedList<T> {
  items: T[];
  isEnded: boolean;
  isReading: boolean;
  error: string;
  /** Whether the user may not read the list: a retry would not help. */
  isForbidden: boolean;
  more: () => void;
  reload: () => void;
  /** Changes the entries here, after they were changed at the service. */
  change: (change: Change<T[]>) => void;
}

/**
 * Loads the first part of a list, and starts again whenever one of `inputs` changes. On a reload, or when `turn` changes, the
 * entries stay until as many were read again, because the user may be writing in one of them.
 */
export function useList<T extends { id: string }>(
  list: () => AsyncGenerator<T, void, void>,
  inputs: unknown[],
  turn = 0,
): LoadedList<T> {
  const [state, setState] = useState({ items: [] as T[], isEnded: false, isReading: true, error: "", isForbidden: false });
  const rest = useRef<AsyncGenerator<T, void, void> | undefined>(undefined);
  const shown = useRef<unknown[] | undefined>(undefined);
  const [again, setAgain] = useState(0);

  async function read(entries: AsyncGenerator<T, void, void>, size: number, old: readonly T[], known: readonly T[]) {
    const found: T[] = [];
    const isKnown = new Set(known.map(({ id }) => id));
    let [isEnded, error, isForbidden] = [false, "", false];
    try {
      while (found.length < size && !isEnded) {
        const { value, done } = await entries.next();
        if (done) isEnded = true;
        else if (!isKnown.has(value.id)) found.push(value);
      }
    } catch (failure) {
      // A generator that threw has ended.
      [isEnded, error] = [true, errorMessage(failure)];
      isForbidden = failure instanceof AgoraError && failure.status === 403;
    }
    if (rest.current === entries) {
      // Keeps the old entries if they could not be reloaded.
      const isStale = error !== "" && old.length > 0;
      setState(({ items: now }) => {
        const items = isStale ? now : merged(old, now, found, isEnded);
        return { items, isEnded, isReading: false, error, isForbidden };
      });
    }
  }

  useEffect(() => {
    const entries = list();
    rest.current = entries;
    const isSame = shown.current?.every((input, n) => Object.is(input, inputs[n]));
    shown.current = inputs;
    setState(({ items }) => ({ items: isSame ? items : [], isEnded: false, isReading: true, error: "", isForbidden: false }));
    const old = isSame ? state.items : [];
    // A list that was shown to its end is read to its end again.
    const wasComplete = isSame && state.isEnded && state.error === "";
    void read(entries, wasComplete ? MAX_RELOADED : Math.max(PAGE_SIZE, Math.min(old.length, MAX_RELOADED)), old, []);
    return () => {
      rest.current = undefined;
    };
  }, [...inputs, turn, again]);

  return {
    ...state,
    more: () => {
      if (rest.current === undefined || state.isReading) return;
      setState((before) => ({ ...before, isReading: true }));
      void read(rest.current, PAGE_SIZE, [], state.items);
    },
    reload: () => setAgain((again) => again + 1),
    change: (change) => setState((before) => ({ ...before, items: change(before.items) })),
  };
}

/** Merges a reload: `old` are the entries when it began, `now` are those shown since, `found` are those that it read. */
function merged<T extends { id: string }>(old: readonly T[], now: readonly T[], found: readonly T[], isEnded: boolean): T[] {
  const byId = (items: readonly T[]) => new Map(items.map((item) => [item.id, item]));
  const [before, present, again] = [byId(old), byId(now), byId(found)] as const;
  // Entries that were created here are shown first, whatever page they are on.
  const created = now.filter(({ id }) => !before.has(id));
  // Without these, and without entries that were removed here meanwhile.
  const others = found.filter(({ id }) => before.has(id) === present.has(id));
  const shown = others.map((item) => {
    const here = present.get(item.id);
    // The response may not include what was changed here meanwhile.
    return here !== undefined && here !== before.get(item.id) ? here : item;
  });
  // The entries after the last one that was found were not reloaded.
  const last = isEnded ? -1 : now.findIndex(({ id }) => id === found.at(-1)?.id);
  const rest = last < 0 ? [] : now.slice(last + 1).filter(({ id }) => before.has(id) && !again.has(id));
  return [...created, ...shown, ...rest];
}

/** Returns the list with an entry changed. */
export function replaced<T extends { id: string }>(items: T[], { id }: T, change: Change<T>): T[] {
  return items.map((item) => (item.id === id ? change(item) : item));
}

/** Returns the list without an entry. */
export function without<T extends { id: string }>(items: T[], gone: T): T[] {
  return items.filter((item) => item.id !== gone.id);
}

/** Waits for a deletion. A 404 is a success: an earlier request, whose response was lost, may have deleted it. */
export async function ignoreNotFound(deletion: Promise<unknown>): Promise<void> {
  await deletion.catch((error: unknown) => {
    if (!(error instanceof AgoraError && error.status === 404)) throw error;
  });
}

/** Returns a ref that tells whether the component is still mounted, for long operations. */
export function useIsMounted(): { readonly current: boolean } {
  const isMounted = useRef(true);
  useEffect(
    () => () => {
      isMounted.current = false;
    },
    [],
  );
  return isMounted;
}

/**
 * Sends content under an `Idempotency-Key`. The same content has the same key until it was sent successfully, so that the user
 * may retry after a lost response.
 */
export type SendOnce = <T>(content: string, send: (header: { "Idempotency-Key": string }) => Promise<T>) => Promise<T>;

export function newSendOnce(): SendOnce {
  let last = { content: "", key: "" };
  return async (content, send) => {
    if (last.content !== content) last = { content, key: newIdempotencyKey() };
    // Other content may be sent meanwhile.
    const forget = () => last.content === content && (last = { content: "", key: "" });
    try {
      const sent = await send({ "Idempotency-Key": last.key });
      forget();
      return sent;
    } catch (failure) {
      // What was sent under this key may not exist any more. The same content may be sent again.
      if (failure instanceof AgoraError && failure.status === 404) forget();
      throw failure;
    }
  };
}

export function useSendOnce(): SendOnce {
  return useState(newSendOnce)[0];
}
