// The small parts that every page is made of.

import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import type { Loaded, LoadedList } from "./load";
import { at } from "./router";
import { ago, exactly, inWords, nameOf, type Named } from "./words";

interface Pictured extends Named {
  id: string;
  profilePicture: string | null;
  /** Users who like a post have none. */
  profilePictureThumbnail?: string | null;
}

/** The picture of somebody, or the first letter of their name. */
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

/** A name that leads to the profile. */
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

/** What failed, told at once to who cannot see it. */
export function Failure({ children }: { children: string }) {
  return children ? (
    <p class="failure" role="alert">
      {children}
    </p>
  ) : null;
}

/** The heading of a page, which is read first when one comes there. */
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

/** A button that does something at the service: it says what failed, and is not pressed twice. */
export function Action(props: {
  does: () => Promise<unknown>;
  children: ComponentChildren;
  label?: string;
  isPressed?: boolean;
  kind?: "plain" | "danger" | "main";
}) {
  const [isBusy, setBusy] = useState(false);
  const [error, setError] = useState("");
  async function press() {
    setBusy(true);
    setError("");
    await props.does().catch((failure: unknown) => setError(inWords(failure)));
    setBusy(false);
  }
  return (
    <>
      <button
        type="button"
        class={props.kind ?? "plain"}
        aria-label={props.label}
        aria-pressed={props.isPressed}
        aria-disabled={isBusy}
        onClick={() => void (isBusy || press())}
      >
        {props.children}
      </button>
      <Failure>{error}</Failure>
    </>
  );
}

/** A form that sends what is in it to the service. */
export function Form(props: {
  label: string;
  submit: string;
  does: (fields: FormData) => Promise<unknown>;
  children: ComponentChildren;
  /** What is said when it was done. */
  done?: string;
  /** Whether it is empty when it was done. */
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
      // What was typed meanwhile stays.
      const isAsSent = [...new FormData(form)].every(([name, value]) => fields.get(name) === value);
      if (props.clears && isAsSent) form.reset();
    } catch (failure) {
      setError(inWords(failure));
    }
    setBusy(false);
  }
  return (
    <form aria-label={props.label} onSubmit={submit}>
      {props.children}
      <Failure>{error}</Failure>
      <p role="status">{isDone ? props.done : ""}</p>
      <button class="main" aria-disabled={isBusy}>
        {props.submit}
      </button>
    </form>
  );
}

/** Has what comes up be where one writes, as a `ref`. */
export function takeFocus(field: HTMLElement | null): void {
  field?.focus();
}

/** Gives the focus of an entry that is about to go to the one beside it or above it, or else to the heading. */
export function leave(entry: Element | null): void {
  if (!entry?.contains(document.activeElement)) return;
  const row = entry.closest("li");
  const other = row?.nextElementSibling ?? row?.previousElementSibling ?? row?.parentElement?.closest("li");
  (other ?? document).querySelector<HTMLElement>("[tabindex]")?.focus();
}

/** A text of a form; empty where it has none. */
export function text(fields: FormData, name: string): string {
  const value = fields.get(name);
  return typeof value === "string" ? value : "";
}

/** A file of a form, if one was chosen. */
export function file(fields: FormData, name: string): File | undefined {
  const value = fields.get(name);
  return value instanceof File && value.size > 0 ? value : undefined;
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
      {/* What is typed stays, however often this is shown anew. */}
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

/** A list that is read part by part. */
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
          <li key={item.id}>{props.children(item)}</li>
        ))}
      </ul>
      <div role="status">{note && <p class="empty">{note}</p>}</div>
      <Failure>{failure}</Failure>
      {failure ? (
        <button onClick={list.reload}>Try again</button>
      ) : (
        !list.isEnded && (
          <button class="more" aria-disabled={list.isReading} onClick={list.more}>
            {list.isReading ? "Loading…" : "Show more"}
          </button>
        )
      )}
    </>
  );
}

/** What was read, once it is there. `title` is the heading of a page that has none without it. */
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
      <button onClick={of.reload}>Try again</button>
    </>
  );
}

/** What is folded away behind a word. What `isLazy` is not there before somebody looks. */
export function More({ label, children, isLazy = false }: { label: string; children: ComponentChildren; isLazy?: boolean }) {
  const [isThere, setThere] = useState(!isLazy);
  return (
    <details onToggle={() => setThere(true)}>
      <summary>{label}</summary>
      <div class="folded">{isThere && children}</div>
    </details>
  );
}

/** Makes a file, and leads to where it is saved. */
export function Download(props: { label: string; save: string; name: string; make: () => Promise<Blob | undefined> }) {
  const [address, setAddress] = useState("");
  useEffect(() => () => URL.revokeObjectURL(address), [address]);
  async function make() {
    const file = await props.make();
    if (file) setAddress(URL.createObjectURL(file));
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
