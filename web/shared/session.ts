// The session of the user, and the API client that uses it.

import { type components, createClient } from "@agora/client";
import { batch, signal } from "@preact/signals";
import { store, stored } from "./storage";

export type User = components["schemas"]["User"];

/** The URL of the service that serves this page, which is at `app/` or `console/` below it. */
const service = new URL("..", location.href.replace(/#.*/, "")).href.replace(/\/$/, "");

/** The key of the token in the session storage, if the user asked to stay logged in. */
const STORED = "agora-token";

const ofTab = () => sessionStorage;

const token = signal(stored(ofTab, STORED));

/** The user's account. Undefined until it is loaded, and when nobody is logged in. */
export const me = signal<User | undefined>(undefined);

/** The message to a user whose session has ended. */
export const sessionEndReason = signal("");

export const agora = createClient({
  service,
  token: () => token.value,
  fetch: async (input, init) => {
    const response = await fetch(input, init);
    // The response may be to a request with an earlier token.
    const sent = new Headers(input instanceof Request ? input.headers : init?.headers).get("Authorization");
    if (response.status === 401 && token.value !== undefined && sent === `Bearer ${token.value}`) {
      expire();
    }
    return response;
  },
});

/** Whether there is a token, which may have expired. */
export function hasToken(): boolean {
  return token.value !== undefined;
}

/** Logs in. `remember` keeps the session when the page is reloaded, until the window is closed. */
export async function logIn(identifier: string, password: string, remember: boolean): Promise<void> {
  const answer = await agora.post("/api/auth/login", { body: { identifier, password } });
  const headers = { Authorization: `Bearer ${answer.token}` };
  const { data } = await agora.get("/api/users/me", { headers });
  batch(() => {
    setToken(answer.token, remember);
    sessionEndReason.value = "";
    me.value = data;
  });
}

export async function readMe(): Promise<void> {
  me.value = (await agora.get("/api/users/me")).data;
}

export async function logOut(): Promise<void> {
  const headers = { Authorization: `Bearer ${token.value}` };
  // First, so that the token is forgotten here even if the service does not respond.
  end("");
  await agora.post("/api/auth/logout", { headers, keepalive: true }).catch(() => undefined);
}

/** Forgets a session that has ended by itself. */
export function expire(): void {
  end("Your session has ended. Please log in again.");
}

/** Forgets the session. */
export function end(reason: string): void {
  store(ofTab, STORED, undefined);
  token.value = undefined;
  me.value = undefined;
  sessionEndReason.value = reason;
}

export function isAdmin(user: User | undefined): boolean {
  return user?.authorities.some(({ authority }) => authority === "ADMIN") ?? false;
}

function setToken(value: string, remember: boolean): void {
  receivedAt = Date.now();
  token.value = value;
  if (remember) store(ofTab, STORED, value);
}

/** The time when the token was received, by the clock of the browser. 0 if that was before the page was loaded. */
let receivedAt = 0;

/**
 * Renews the token after half of its lifetime, or when less than two minutes are left, or when it is older than `maxAge`
 * milliseconds. Uses the token's age instead of its expiry, because the clocks of browser and service may differ.
 */
async function refresh(maxAge = Number.POSITIVE_INFINITY): Promise<void> {
  const current = token.value;
  if (current === undefined || me.value === undefined) return;
  const total = lifetime(current);
  if (Date.now() - receivedAt < Math.min(maxAge, total / 2, total - 2 * MINUTE)) return;
  const answer = await agora.post("/api/auth/refresh", { keepalive: true }).catch(() => undefined);
  if (answer !== undefined && token.value === current) setToken(answer.token, stored(ofTab, STORED) !== undefined);
}

const MINUTE = 60_000;
setInterval(() => void refresh(), MINUTE);
// The browser may suspend a hidden page: when it is hidden, renew a token older than a minute; when it is shown, renew it if
// that is due.
document.addEventListener("visibilitychange", () => void refresh(document.hidden ? MINUTE : undefined));

/** Returns the lifetime of a token in milliseconds, from its claims. */
function lifetime(token: string): number {
  try {
    const claims: unknown = JSON.parse(atob((token.split(".")[1] ?? "").replace(/-/g, "+").replace(/_/g, "/")));
    const { iat, exp } = claims as { iat?: number; exp?: number };
    return 1_000 * (Number(exp) - Number(iat));
  } catch {
    return Number.POSITIVE_INFINITY;
  }
}
