// Drafts, which are kept by user until the page is closed: while the user visits other pages, and when the session ends.

import { type Signal, signal } from "@preact/signals";
import { type SendOnce, newSendOnce } from "../../../shared/load";
import { me } from "../../../shared/session";

/** The content of a form so far, and the function that sends it. */
export interface Draft<T> {
  content: Signal<T>;
  /** Belongs to the draft, so that a user who returns while it is being sent, and sends it again, uses the same key. */
  sendOnce: SendOnce;
}

const drafts = new Map<string, Draft<never>>();

/** Returns the user's draft in a form. All drafts of a form have the same type. */
export function draftOf<T>(form: string, empty: T): Draft<T> {
  const key = `${me.value?.id} ${form}`;
  const draft = (drafts.get(key) as Draft<T> | undefined) ?? { content: signal(empty), sendOnce: newSendOnce() };
  drafts.set(key, draft as Draft<never>);
  return draft;
}
