// The frame of every page: loading of the session, skip link, navigation.

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
  // If a token was stored, load the account that it belongs to.
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

/** Renders the page: the view of a member, or that of a visitor. */
export function show(views: Views): void {
  const page = document.getElementById("page");
  if (page) render(<Page {...views} />, page);
}

/** A link past the navigation, for users of the keyboard. */
function Skip() {
  return (
    <a class="skip" href="#content" onClick={skip}>
      Skip to the content
    </a>
  );
}

/** Moves the focus without following the link: the fragment of the URL is the route, and must not become `#content`. */
function skip(event: MouseEvent): void {
  event.preventDefault();
  document.querySelector<HTMLElement>("#content h1")?.focus();
}

/** The entries of the navigation: path, name and icon. */
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
