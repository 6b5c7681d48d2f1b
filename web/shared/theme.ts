// The color theme: that of the system, or the one chosen here.

import { effect, signal } from "@preact/signals";
import { store, stored } from "./storage";

export const THEMES = [
  ["system", "Same as the system"],
  ["light", "Light"],
  ["dark", "Dark"],
] as const;
export type Theme = (typeof THEMES)[number][0];

const STORED = "agora-theme";
const ofBrowser = () => localStorage;

export function themeNamed(name: string | undefined): Theme {
  return THEMES.map(([theme]) => theme).find((theme) => theme === name) ?? "system";
}

export const theme = signal<Theme>(themeNamed(stored(ofBrowser, STORED)));

effect(() => {
  document.documentElement.dataset["theme"] = theme.value;
  store(ofBrowser, STORED, theme.value);
});
