// Reads what a page shows, and keeps what is sent from being sent twice.

import { AgoraError, newIdempotencyKey } from "@agora/client";
import { useEffect, useRef, useState } from "preact/hooks";
import { inWords } from "./words";

/** What becomes of something: it may have changed again since it was shown. */
export type Change<T> = (now: T) => T;

/** What is read: `data` once it is there, `error` where it fails. */
export interface Loaded<T> {
  data: T | undefined;
  error: string;
  /** Changes it here, after it was changed at the service. */
  change: (change: Change<T>) => void;
  reload: () => void;
}

/** Reads something, and again whenever one of `inputs` changes. */
export function useLoaded<T>(read: () => Promise<T>, inputs: unknown[]): Loaded<T> {
  const [state, setState] = useState<{ data: T | undefined; error: string }>({ data: undefined, error: "" });
  const [turn, setTurn] = useState(0);
  const changes = useRef(0);
  useEffect(() => {
    let isWanted = true;
    const before = changes.current;
    read().then(
      (data) => {
        if (!isWanted) return;
        // What was changed here meanwhile may not be in it.
        if (changes.current === before) setState({ data, error: "" });
        else setTurn((turn) => turn + 1);
      },
      // What is there stays.
      (error: unknown) => isWanted && setState(({ data }) => ({ data, error: inWords(error) })),
    );
    return () => {
      isWanted = false;
    };
  }, [...inputs, turn]);
  const change = (change: Change<T>) => {
    changes.current += 1;
    setState((now) => (now.data === undefined ? now : { data: change(now.data), error: "" }));
  };
  return { ...state, change, reload: () => setTurn((turn) => turn + 1) };
}

/** How many entries of a list are shown at first, and more at a time. */
const PAGE = 20;

/** Of a list that is read again, as many at most are at once. */
const MOST_READ_AGAIN = 100;

/** A list that grows as it is read. */
export interface LoadedList<T> {
  items: T[];
  isEnded: boolean;
  isReading: boolean;
  error: string;
  /** Whether it is not for the user: it is of no use to try again. */
  isForbidden: boolean;
  more: () => void;
  reload: () => void;
  /** Changes the entries here, after they were changed at the service. */
  change: (change: Change<T[]>) => void;
}

/**
 * Reads the first part of a list, and again whenever one of `inputs` changes. When it is reloaded, or `turn` changes, what is shown
 * stays until as much of it was read anew: somebody may be writing there.
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
      [isEnded, error] = [true, inWords(failure)];
      isForbidden = failure instanceof AgoraError && failure.status === 403;
    }
    if (rest.current === entries) {
      // What could not be read again stays.
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
    // What was shown to its end is shown to its end again.
    const isWhole = isSame && state.isEnded && state.error === "";
    void read(entries, isWhole ? MOST_READ_AGAIN : Math.max(PAGE, Math.min(old.length, MOST_READ_AGAIN)), old, []);
    return () => {
      rest.current = undefined;
    };
  }, [...inputs, turn, again]);

  return {
    ...state,
    more: () => {
      if (rest.current === undefined || state.isReading) return;
      setState((before) => ({ ...before, isReading: true }));
      void read(rest.current, PAGE, [], state.items);
    },
    reload: () => setAgain((again) => again + 1),
    change: (change) => setState((before) => ({ ...before, items: change(before.items) })),
  };
}

/** Returns what is shown once `found` was read in the place of `old`, while what was shown has become `now`. */
function merged<T extends { id: string }>(old: readonly T[], now: readonly T[], found: readonly T[], isEnded: boolean): T[] {
  const byId = (items: readonly T[]) => new Map(items.map((item) => [item.id, item]));
  const [before, present, again] = [byId(old), byId(now), byId(found)] as const;
  // What was made here is in the list before its page is.
  const made = now.filter(({ id }) => !before.has(id));
  // Neither that, nor what was taken away here meanwhile.
  const others = found.filter(({ id }) => before.has(id) === present.has(id));
  const shown = others.map((item) => {
    const here = present.get(item.id);
    // What was changed here meanwhile may not be in what was read.
    return here !== undefined && here !== before.get(item.id) ? here : item;
  });
  // What was shown behind the last one that was found was not read again.
  const last = isEnded ? -1 : now.findIndex(({ id }) => id === found.at(-1)?.id);
  const rest = last < 0 ? [] : now.slice(last + 1).filter(({ id }) => before.has(id) && !again.has(id));
  return [...made, ...shown, ...rest];
}

/** Returns a list in which an entry is replaced by what becomes of it. */
export function replaced<T extends { id: string }>(items: T[], { id }: T, change: Change<T>): T[] {
  return items.map((item) => (item.id === id ? change(item) : item));
}

/** Returns a list in which an entry is no more. */
export function without<T extends { id: string }>(items: T[], gone: T): T[] {
  return items.filter((item) => item.id !== gone.id);
}

/** Does a deletion. What is not there any more is deleted, perhaps by the same request before, whose answer was lost. */
export async function deleted(deletion: Promise<unknown>): Promise<void> {
  await deletion.catch((error: unknown) => {
    if (!(error instanceof AgoraError && error.status === 404)) throw error;
  });
}

/** Whether the component is still there, for what takes a while. */
export function useIsThere(): { readonly current: boolean } {
  const isThere = useRef(true);
  useEffect(
    () => () => {
      isThere.current = false;
    },
    [],
  );
  return isThere;
}

/**
 * Sends something under an `Idempotency-Key`: the same content has the same key until it was sent, however often the user tries
 * after no answer came.
 */
export type Keyed = <T>(content: string, send: (header: { "Idempotency-Key": string }) => Promise<T>) => Promise<T>;

export function newKeyed(): Keyed {
  let last = { content: "", key: "" };
  return async (content, send) => {
    if (last.content !== content) last = { content, key: newIdempotencyKey() };
    const sent = await send({ "Idempotency-Key": last.key });
    last = { content: "", key: "" };
    return sent;
  };
}

export function useKey(): Keyed {
  return useState(newKeyed)[0];
}
