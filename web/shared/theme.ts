// Dark or light: as the system has it, or as it was chosen here.

import { effect, signal } from "@preact/signals";

export const THEMES = [
  ["system", "As the system"],
  ["light", "Light"],
  ["dark", "Dark"],
] as const;
export type Theme = (typeof THEMES)[number][0];

const STORED = "agora-theme";

export function themeNamed(name: string | null): Theme {
  return THEMES.map(([theme]) => theme).find((theme) => theme === name) ?? "system";
}

export const theme = signal<Theme>(themeNamed(localStorage.getItem(STORED)));

effect(() => {
  document.documentElement.dataset["theme"] = theme.value;
  localStorage.setItem(STORED, theme.value);
});
