// What is shown of things: errors, times, numbers, names.

import { AgoraError, type ErrorCode } from "@agora/client";
import { signal } from "@preact/signals";

const WORDS: Partial<Record<ErrorCode, string>> = {
  invalid_credentials: "There is no such account, or the password is wrong.",
  username_taken: "Somebody has this name already.",
  email_taken: "Somebody has this address already.",
  rate_limited: "That was too much in a short time. Please try again later.",
  overloaded: "The service is busy. Please try again.",
  unavailable: "The service is not available at the moment. Please try again.",
  mail_not_configured: "This service sends no mail.",
  post_not_found: "This post is not there, or not for you.",
  user_not_found: "There is nobody of that name.",
  last_admin: "The last administrator has to stay.",
};

/** What went wrong, for people to read. */
export function inWords(error: unknown): string {
  if (!(error instanceof AgoraError)) return "The service cannot be reached. Please try again.";
  const fields = Object.values(error.failure?.data ?? {}).flat();
  return fields.join(" ") || (error.code && WORDS[error.code]) || error.message;
}

const UNITS: [Intl.RelativeTimeFormatUnit, number][] = [
  ["day", 86_400],
  ["hour", 3_600],
  ["minute", 60],
];
const relative = new Intl.RelativeTimeFormat("en", { numeric: "auto", style: "short" });
const date = new Intl.DateTimeFormat("en", { dateStyle: "medium" });
const exact = new Intl.DateTimeFormat("en", { dateStyle: "medium", timeStyle: "short" });

/** The present time, to the minute: what was so long ago when it was shown does not stay so. */
const now = signal(Date.now());
setInterval(() => {
  now.value = Date.now();
}, 60_000);

/** How long ago something was; of what is older than a week, the day. */
export function ago(at: string): string {
  const seconds = (now.value - Date.parse(at)) / 1_000;
  if (seconds > 7 * 86_400) return date.format(new Date(at));
  const [unit, size] = UNITS.find(([, size]) => seconds >= size) ?? ["second", 1];
  return unit === "second" ? "now" : relative.format(-Math.floor(seconds / size), unit);
}

export function exactly(at: string): string {
  return exact.format(new Date(at));
}

/** A number of things, such as "1 like" and "2 likes". */
export function count(of: number, one: string, many = `${one}s`): string {
  return `${of.toLocaleString("en")} ${of === 1 ? one : many}`;
}

export interface Named {
  username: string;
  displayName?: string | null;
}

export function nameOf(user: Named): string {
  return user.displayName || user.username;
}
