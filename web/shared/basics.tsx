// Components that all pages share: links, buttons, forms, lists.

import type { ComponentChildren, JSX, RefObject } from "preact";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { type Loaded, type LoadedList, useIsMounted } from "./load";
import { at } from "./router";
import { ago, exactly, errorMessage, nameOf, type Named } from "./words";

interface Pictured extends Named {
  id: string;
  profilePicture: string | null;
  /** Missing in the list of those who like a post. */
  profilePictureThumbnail?: string | null;
}

/** The profile picture of a user, or the first letter of the name. */
export function Avatar({ user }: { user: Pictured }) {
  const picture = user.profilePictureThumbnail ?? user.profilePicture;
  return picture ? (
    <img class="avatar" src={picture} alt="" width={40} height={40} loading="lazy" />
  ) : (
    <span class="avatar" aria-hidden="true">
      {[...nameOf(user)][0]?.toUpperCase()}
    </span>
  );
}

/** The name of a user, as a link to the profile. */
export function UserLink({ user }: { user: Named & { id: string } }) {
  return (
    <a class="user" href={at("user", user.id)}>
      <bdi>{nameOf(user)}</bdi> <span class="faint">@<bdi>{user.username}</bdi></span>
    </a>
  );
}

export function Time({ of }: { of: string }) {
  return (
    <time class="faint" dateTime={of} title={exactly(of)}>
      {ago(of)}
    </time>
  );
}

/** An error message, which screen readers announce at once. */
export function Failure({ children }: { children: string }) {
  return children ? (
    <p class="failure" role="alert">
      {children}
    </p>
  ) : null;
}

/** The heading of a page. It has the focus at first, so that screen readers begin there. */
export function Title({ children, small }: { children: ComponentChildren; small?: ComponentChildren }) {
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => {
    document.title = `${heading.current?.textContent ?? ""} – Agora`;
    heading.current?.focus({ preventScroll: true });
    scrollTo(0, 0);
  }, []);
  return (
    <div class="title">
      <h1 ref={heading} tabIndex={-1}>
        {children}
      </h1>
      {small}
    </div>
  );
}

/**
 * Returns a ref to an element that may be removed while it has the focus. The focus then moves to the first new entry of a list
 * right above, to what is left of the element's own entry, to a neighbour of that, or else to the heading.
 */
function usePassedFocus<T extends HTMLElement>(): RefObject<T> {
  const ref = useRef<T>(null);
  useLayoutEffect(() => {
    const element = ref.current;
    return () => element?.contains(document.activeElement) && passFocus(element);
  }, []);
  return ref;
}

function passFocus(element: HTMLElement): void {
  const list = element.parentElement?.querySelector(":scope > .list");
  const last = list?.lastElementChild;
  const own = element.closest("li");
  const near = [own, own?.nextElementSibling, own?.previousElementSibling, own?.parentElement?.closest("li")];
  // Once the element was removed.
  queueMicrotask(() => {
    // Unless something else took the focus.
    if (document.activeElement !== document.body) return;
    const added = last ? last.nextElementSibling : list?.firstElementChild;
    const entry = [added, last, ...near].find((entry) => entry?.isConnected);
    const next = entry?.querySelector<HTMLElement>("[tabindex], a, button, summary");
    (next ?? document.querySelector<HTMLElement>("h1"))?.focus();
  });
}

/** A button that may be removed while it has the focus. */
export function Button(props: Omit<JSX.IntrinsicElements["button"], "ref">) {
  return <button type="button" {...props} ref={usePassedFocus<HTMLButtonElement>()} />;
}

/** An entry of a list, which may be removed while something in it has the focus. */
function Entry({ children }: { children: ComponentChildren }) {
  return <li ref={usePassedFocus<HTMLLIElement>()}>{children}</li>;
}

/** A button that calls the service. It shows an error if that fails, and ignores clicks meanwhile. */
export function Action(props: {
  does: () => Promise<unknown>;
  children: ComponentChildren;
  label?: string;
  isPressed?: boolean;
  kind?: "plain" | "danger" | "main";
  /** The message after success. */
  done?: string;
}) {
  const [isBusy, setBusy] = useState(false);
  const [error, setError] = useState("");
  const [isDone, setDone] = useState(false);
  async function press() {
    setBusy(true);
    setError("");
    setDone(false);
    await props.does().then(
      () => setDone(true),
      (failure: unknown) => setError(errorMessage(failure)),
    );
    setBusy(false);
  }
  return (
    <>
      <Button
        class={props.kind ?? "plain"}
        aria-label={props.label}
        aria-pressed={props.isPressed}
        aria-disabled={isBusy}
        onClick={() => void (isBusy || press())}
      >
        {props.children}
      </Button>
      <Failure>{error}</Failure>
      {props.done && <p role="status">{isDone ? props.done : ""}</p>}
    </>
  );
}

/** A form that sends its fields to the service. */
export function Form(props: {
  label: string;
  submit: string;
  does: (fields: FormData) => Promise<unknown>;
  children: ComponentChildren;
  /** The message after success. */
  done?: string;
  /** Whether success empties the form. */
  clears?: boolean;
}) {
  const [isBusy, setBusy] = useState(false);
  const [error, setError] = useState("");
  const [isDone, setDone] = useState(false);
  async function submit(event: SubmitEvent & { currentTarget: HTMLFormElement }) {
    event.preventDefault();
    const form = event.currentTarget;
    if (isBusy) return;
    const fields = new FormData(form);
    setBusy(true);
    setError("");
    setDone(false);
    try {
      await props.does(fields);
      setDone(true);
      // Keep what the user typed meanwhile.
      const isUnchanged = [...new FormData(form)].every(([name, value]) => fields.get(name) === value);
      if (props.clears && isUnchanged) form.reset();
    } catch (failure) {
      setError(errorMessage(failure));
    }
    setBusy(false);
  }
  return (
    <form aria-label={props.label} onSubmit={submit}>
      {props.children}
      <Failure>{error}</Failure>
      <p role="status">{isDone ? props.done : ""}</p>
      <Button type="submit" class="main" aria-disabled={isBusy}>
        {props.submit}
      </Button>
    </form>
  );
}

/** A `ref` that focuses a field when it appears. */
export function takeFocus(field: HTMLElement | null): void {
  field?.focus();
}

/** Returns a text field of a form, or an empty string if there is none. */
export function text(fields: FormData, name: string): string {
  const value = fields.get(name);
  return typeof value === "string" ? value : "";
}

/** Returns a file field of a form, if a file was chosen. */
export function file(fields: FormData, name: string): File | undefined {
  const value = fields.get(name);
  return value instanceof File && value.name !== "" ? value : undefined;
}

interface InputProps {
  label: string;
  name: string;
  type?: string;
  value?: string;
  autoComplete?: string;
  required?: boolean;
  maxLength?: number;
  step?: string;
  accept?: string;
}

export function Input({ label, value = "", ...input }: InputProps) {
  return (
    <label>
      {label}
      {/* Uncontrolled: rendering again keeps what the user typed. */}
      <input {...input} defaultValue={value} />
    </label>
  );
}

export function Check({ label, name, checked }: { label: string; name: string; checked?: boolean }) {
  return (
    <label class="check">
      <input type="checkbox" name={name} defaultChecked={checked ?? false} />
      {label}
    </label>
  );
}

export function Choice(props: {
  label: string;
  name: string;
  value: string;
  of: readonly (readonly [string, string])[];
  onChange?: (value: string) => void;
}) {
  return (
    <label>
      {props.label}
      <select name={props.name} onChange={({ currentTarget }) => props.onChange?.(currentTarget.value)}>
        {props.of.map(([value, words]) => (
          <option key={value} value={value} selected={value === props.value}>
            {words}
          </option>
        ))}
      </select>
    </label>
  );
}

/** A list that is loaded part by part. */
export function List<T extends { id: string }>(props: {
  of: LoadedList<T>;
  label: string;
  empty: string;
  children: (item: T) => ComponentChildren;
}) {
  const { of: list } = props;
  const failure = list.isForbidden ? "" : list.error;
  const note = list.isForbidden ? list.error : list.isEnded && !failure && list.items.length === 0 ? props.empty : "";
  return (
    <>
      <ul class="list" aria-label={props.label} aria-busy={list.isReading}>
        {list.items.map((item) => (
          <Entry key={item.id}>{props.children(item)}</Entry>
        ))}
      </ul>
      <div role="status">{note && <p class="empty">{note}</p>}</div>
      <Failure>{failure}</Failure>
      {failure ? (
        <Button onClick={list.reload}>Try again</Button>
      ) : (
        !list.isEnded && (
          <Button class="more" aria-disabled={list.isReading} onClick={list.more}>
            {list.isReading ? "Loading…" : "Show more"}
          </Button>
        )
      )}
    </>
  );
}

/** Data, once it is loaded. `title` is the heading in case of an error, for a page whose own heading is part of the data. */
export function Show<T>(props: { of: Loaded<T>; title?: string; children: (data: T) => ComponentChildren }) {
  const { of, title, children } = props;
  if (of.data !== undefined) {
    return (
      <>
        <Failure>{of.error}</Failure>
        {children(of.data)}
      </>
    );
  }
  if (!of.error) return <p aria-busy="true">Loading…</p>;
  return (
    <>
      {title && <Title>{title}</Title>}
      <Failure>{of.error}</Failure>
      <Button onClick={of.reload}>Try again</Button>
    </>
  );
}

/** Content that is collapsed behind a label. If `isLazy`, it is rendered when it is first opened. */
export function More({ label, children, isLazy = false }: { label: string; children: ComponentChildren; isLazy?: boolean }) {
  const [wasOpened, setOpened] = useState(!isLazy);
  return (
    <details onToggle={() => setOpened(true)}>
      <summary>{label}</summary>
      <div class="folded">{wasOpened && children}</div>
    </details>
  );
}

/** A button that creates a file, and a link to save it. */
export function Download(props: { label: string; save: string; name: string; make: () => Promise<Blob | undefined> }) {
  const isMounted = useIsMounted();
  const [address, setAddress] = useState("");
  useEffect(() => () => URL.revokeObjectURL(address), [address]);
  async function make() {
    const file = await props.make();
    if (file && isMounted.current) setAddress(URL.createObjectURL(file));
  }
  return (
    <>
      <Action does={make}>{props.label}</Action>
      {address && (
        <a href={address} download={props.name}>
          {props.save}
        </a>
      )}
    </>
  );
}
