// What somebody writes, kept while they are elsewhere, and until they have logged in again.

import { type Signal, signal } from "@preact/signals";
import { type Keyed, newKeyed } from "../../../shared/load";
import { me } from "../../../shared/session";

/** What is in a form so far, and what sends it. */
export interface Draft<T> {
  content: Signal<T>;
  /** It is of the draft: who comes back while it is being sent, and sends it again, sends the same. */
  keyed: Keyed;
}

export function newDraft<T>(content: T): Draft<T> {
  return { content: signal(content), keyed: newKeyed() };
}

const drafts = new Map<string, Draft<never>>();

/** The draft that the own account has in a form; all those of one form are of one type. */
export function draftOf<T>(form: string, empty: T): Draft<T> {
  const key = `${me.value?.id} ${form}`;
  const draft = (drafts.get(key) as Draft<T> | undefined) ?? newDraft(empty);
  drafts.set(key, draft as Draft<never>);
  return draft;
}
