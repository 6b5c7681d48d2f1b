// Who is logged in, and the client that calls the service as them.

import { type components, createClient } from "@agora/client";
import { batch, signal } from "@preact/signals";
import { store, stored } from "./storage";

export type User = components["schemas"]["User"];

/** The service that this page comes from: the page is at `app/` below it. */
const service = new URL("..", location.href.replace(/#.*/, "")).href.replace(/\/$/, "");

/** Under this name the session's storage has the token, if the user asked to stay logged in. */
const STORED = "agora-token";

const ofTab = () => sessionStorage;

const token = signal(stored(ofTab, STORED));

/** The own account; nothing before it is known, and when nobody is logged in. */
export const me = signal<User | undefined>(undefined);

/** What is to be said to somebody whose session ended by itself. */
export const farewell = signal("");

export const agora = createClient({
  service,
  token: () => token.value,
  fetch: async (input, init) => {
    const response = await fetch(input, init);
    // The token of a session before may be refused late.
    const sent = new Headers(input instanceof Request ? input.headers : init?.headers).get("Authorization");
    if (response.status === 401 && token.value !== undefined && sent === `Bearer ${token.value}`) {
      expire();
    }
    return response;
  },
});

/** Whether there is a session that may still hold. */
export function hasToken(): boolean {
  return token.value !== undefined;
}

/** Opens a session; `stays` keeps it when the page is loaded anew, as long as the window is there. */
export async function logIn(identifier: string, password: string, stays: boolean): Promise<void> {
  const answer = await agora.post("/api/auth/login", { body: { identifier, password } });
  const headers = { Authorization: `Bearer ${answer.token}` };
  const { data } = await agora.get("/api/users/me", { headers });
  batch(() => {
    keep(answer.token, stays);
    farewell.value = "";
    me.value = data;
  });
}

export async function readMe(): Promise<void> {
  me.value = (await agora.get("/api/users/me")).data;
}

export async function logOut(): Promise<void> {
  // It is over here in any case.
  await agora.post("/api/auth/logout").catch(() => undefined);
  end("");
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
  farewell.value = reason;
}

export function isAdmin(user: User | undefined): boolean {
  return user?.authorities.some(({ authority }) => authority === "ADMIN") ?? false;
}

function keep(present: string, stays: boolean): void {
  arrival = Date.now();
  token.value = present;
  if (stays) store(ofTab, STORED, present);
}

/** When the present token came; of one of before the page was loaded that is not known. */
let arrival = 0;

/**
 * Gets a new token when half of the present one's time is over, or little is left, or it is older than `most` milliseconds. What
 * counts is how long that is: clocks may differ.
 */
async function refresh(most = Number.POSITIVE_INFINITY): Promise<void> {
  const present = token.value;
  if (present === undefined || me.value === undefined) return;
  const whole = lifetime(present);
  if (Date.now() - arrival < Math.min(most, whole / 2, whole - 2 * MINUTE)) return;
  const answer = await agora.post("/api/auth/refresh", { keepalive: true }).catch(() => undefined);
  if (answer !== undefined && token.value === present) keep(answer.token, stored(ofTab, STORED) !== undefined);
}

const MINUTE = 60_000;
setInterval(() => void refresh(), MINUTE);
// A page that is hidden may be put to sleep: the time of its token begins when it is.
document.addEventListener("visibilitychange", () => void refresh(document.hidden ? MINUTE : undefined));

/** For how many milliseconds a token holds, as it says itself. */
function lifetime(token: string): number {
  try {
    const claims: unknown = JSON.parse(atob((token.split(".")[1] ?? "").replace(/-/g, "+").replace(/_/g, "/")));
    const { iat, exp } = claims as { iat?: number; exp?: number };
    return 1_000 * (Number(exp) - Number(iat));
  } catch {
    return Number.POSITIVE_INFINITY;
  }
}
