// Reads what a page shows, and keeps what is sent from being sent twice.

import { AgoraError, newIdempotencyKey } from "@agora/client";
import { useEffect, useRef, useState } from "preact/hooks";
import { inWords } from "./words";

/** What is read: `data` once it is there, `error` where it fails. */
export interface Loaded<T> {
  data: T | undefined;
  error: string;
  set: (data: T) => void;
  reload: () => void;
}

/** Reads something, and again whenever one of `inputs` changes. */
export function useLoaded<T>(read: () => Promise<T>, inputs: unknown[]): Loaded<T> {
  const [state, setState] = useState<{ data: T | undefined; error: string }>({ data: undefined, error: "" });
  const [turn, setTurn] = useState(0);
  useEffect(() => {
    let isWanted = true;
    read().then(
      (data) => isWanted && setState({ data, error: "" }),
      // What is there stays.
      (error: unknown) => isWanted && setState(({ data }) => ({ data, error: inWords(error) })),
    );
    return () => {
      isWanted = false;
    };
  }, [...inputs, turn]);
  return { ...state, set: (data) => setState({ data, error: "" }), reload: () => setTurn((turn) => turn + 1) };
}

/** How many entries of a list are shown at first, and more at a time. */
const PAGE = 20;

/** A list that grows as it is read. */
export interface LoadedList<T> {
  items: T[];
  isEnded: boolean;
  isReading: boolean;
  error: string;
  more: () => void;
  reload: () => void;
  /** Changes the entries here, after they were changed at the service. */
  change: (change: (items: T[]) => T[]) => void;
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
  const [state, setState] = useState({ items: [] as T[], isEnded: false, isReading: true, error: "" });
  const rest = useRef<AsyncGenerator<T, void, void> | undefined>(undefined);
  const shown = useRef<unknown[] | undefined>(undefined);
  const [again, setAgain] = useState(0);

  async function read(entries: AsyncGenerator<T, void, void>, old: readonly T[]) {
    const found: T[] = [];
    let [isEnded, error] = [false, ""];
    try {
      while (found.length < Math.max(PAGE, old.length) && !isEnded) {
        const { value, done } = await entries.next();
        if (done) isEnded = true;
        else found.push(value);
      }
    } catch (failure) {
      // A generator that threw has ended.
      [isEnded, error] = [true, inWords(failure)];
    }
    if (rest.current === entries) {
      setState(({ items }) => {
        const outdated = new Set(error ? [] : old.map(({ id }) => id));
        // What was made here is in the list before its page is.
        const kept = items.filter(({ id }) => !outdated.has(id));
        const known = new Set(kept.map(({ id }) => id));
        return { items: [...kept, ...found.filter(({ id }) => !known.has(id))], isEnded, isReading: false, error };
      });
    }
  }

  useEffect(() => {
    const entries = list();
    rest.current = entries;
    const isSame = shown.current?.every((input, n) => Object.is(input, inputs[n]));
    shown.current = inputs;
    const old = isSame ? state.items : [];
    setState({ items: old, isEnded: false, isReading: true, error: "" });
    void read(entries, old);
    return () => {
      rest.current = undefined;
    };
  }, [...inputs, turn, again]);

  return {
    ...state,
    more: () => {
      if (rest.current === undefined || state.isReading) return;
      setState((before) => ({ ...before, isReading: true }));
      void read(rest.current, []);
    },
    reload: () => setAgain((again) => again + 1),
    change: (change) => setState((before) => ({ ...before, items: change(before.items) })),
  };
}

/** Returns a list in which an entry is replaced by what became of it. */
export function replaced<T extends { id: string }>(items: T[], changed: T): T[] {
  return items.map((item) => (item.id === changed.id ? changed : item));
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

/**
 * Sends something under an `Idempotency-Key`: the same content has the same key until it was sent, however often the user tries
 * after no answer came.
 */
export function useKey(): <T>(content: string, send: (header: { "Idempotency-Key": string }) => Promise<T>) => Promise<T> {
  const last = useRef({ content: "", key: "" });
  return async (content, send) => {
    if (last.current.content !== content) last.current = { content, key: newIdempotencyKey() };
    const sent = await send({ "Idempotency-Key": last.current.key });
    last.current = { content: "", key: "" };
    return sent;
  };
}
