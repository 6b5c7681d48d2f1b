// The route is the part of the URL after `#`, since the service serves a single page.

import { computed, signal } from "@preact/signals";

const hash = signal(location.hash);
addEventListener("hashchange", () => {
  hash.value = location.hash;
});

/** The decoded parts of the path, and the query. */
export const route = computed(() => {
  const [path = "", query = ""] = hash.value.replace(/^#\/?/, "").split("?", 2);
  return { parts: path.split("/").filter(Boolean).map(decode), query: new URLSearchParams(query) };
});

/** Returns the link to a route: `at("user", id)`. */
export function at(...parts: string[]): string {
  return `#/${parts.map(encodeURIComponent).join("/")}`;
}

export function go(address: string): void {
  location.hash = address;
}

/** Decodes a part of the path. Returns a malformed one unchanged. */
function decode(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}
