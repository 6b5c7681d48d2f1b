// Formats errors, times, numbers and names for people.

import { AgoraError, type ErrorCode } from "@agora/client";
import { signal } from "@preact/signals";

const MESSAGES: Partial<Record<ErrorCode, string>> = {
  invalid_credentials: "There is no such account, or the password is wrong.",
  username_taken: "This username is already taken.",
  email_taken: "This email address is already in use.",
  rate_limited: "Too many requests in a short time. Please try again later.",
  overloaded: "The service is busy. Please try again.",
  unavailable: "The service is not available at the moment. Please try again.",
  mail_not_configured: "This service sends no mail.",
  post_not_found: "This post does not exist, or you may not see it.",
  user_not_found: "This user does not exist.",
  last_admin: "The last administrator cannot be removed.",
};

/** Returns the message to show for an error. */
export function errorMessage(error: unknown): string {
  if (!(error instanceof AgoraError)) return "The service cannot be reached. Please try again.";
  const fields = Object.values(error.failure?.data ?? {}).flat();
  return fields.join(" ") || (error.code && MESSAGES[error.code]) || error.message;
}

const UNITS: [Intl.RelativeTimeFormatUnit, number][] = [
  ["day", 86_400],
  ["hour", 3_600],
  ["minute", 60],
];
const relative = new Intl.RelativeTimeFormat("en", { numeric: "auto", style: "short" });
const date = new Intl.DateTimeFormat("en", { dateStyle: "medium" });
const exact = new Intl.DateTimeFormat("en", { dateStyle: "medium", timeStyle: "short" });

/** The current time, updated every minute, so that relative times stay correct while they are shown. */
const now = signal(Date.now());
setInterval(() => {
  now.value = Date.now();
}, 60_000);

/** Formats a time relative to now, or as a date if it is older than a week. */
export function ago(at: string): string {
  const seconds = (now.value - Date.parse(at)) / 1_000;
  if (seconds > 7 * 86_400) return date.format(new Date(at));
  const [unit, size] = UNITS.find(([, size]) => seconds >= size) ?? ["second", 1];
  return unit === "second" ? "now" : relative.format(-Math.floor(seconds / size), unit);
}

export function exactly(at: string): string {
  return exact.format(new Date(at));
}

/** Formats a number with its noun, such as "1 like" and "2 likes". */
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
