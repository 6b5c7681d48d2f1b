// What is around every page.

import { type ComponentChildren, render } from "preact";
import { Show } from "./basics";
import { Icon } from "./icon";
import { useLoaded } from "./load";
import { route } from "./router";
import { hasToken, me, readMe, type User } from "./session";

interface Views {
  member: (user: User) => ComponentChildren;
  visitor: () => ComponentChildren;
}

function Page({ member, visitor }: Views) {
  // A session that was kept: whose it is.
  const known = useLoaded(async () => {
    if (hasToken()) await readMe();
    return true;
  }, []);
  return (
    <>
      <Skip />
      {me.value ? member(me.value) : hasToken() ? <Show of={known}>{visitor}</Show> : visitor()}
    </>
  );
}

/** Shows the page to whoever is there. */
export function show(views: Views): void {
  const page = document.getElementById("page");
  if (page) render(<Page {...views} />, page);
}

/** Leads past the places, for those who go by the keyboard. */
function Skip() {
  return (
    <a class="skip" href="#content" onClick={skip}>
      Skip to the content
    </a>
  );
}

/** The address names the place; it must not become `#content`. */
function skip(event: MouseEvent): void {
  event.preventDefault();
  document.querySelector<HTMLElement>("#content h1")?.focus();
}

/** Where one can go: the path, its name and its sign. */
export type Places = readonly (readonly [string, string, Parameters<typeof Icon>[0]["name"]])[];

export function Navigation(props: { places: Places; badges?: Record<string, ComponentChildren>; children?: ComponentChildren }) {
  const [here = ""] = route.value.parts;
  return (
    <nav class="places" aria-label="Main">
      {props.places.map(([path, name, icon]) => (
        <a key={path} href={`#/${path}`} aria-current={here === path ? "page" : undefined}>
          <Icon name={icon} />
          <span class="name">{name}</span>
          {props.badges?.[path]}
        </a>
      ))}
      {props.children}
    </nav>
  );
}
