// Searches whose query is part of the URL.

import type { ComponentChildren } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";
import { Form, text } from "./basics";
import { go } from "./router";

/** A form whose non-empty fields become the query of a route. `asked` has the values of the current query, by field. */
export function QueryForm(props: {
  label: string;
  submit?: string;
  place: string;
  asked: Record<string, string>;
  children: ComponentChildren;
}) {
  const { label, submit = "Show", place, asked, children } = props;
  const row = useRef<HTMLDivElement>(null);
  // The form keeps its elements when the query changes, so that it keeps the focus. Runs before the user can type.
  useLayoutEffect(() => {
    for (const [name, value] of Object.entries(asked)) {
      const field = row.current?.querySelector<HTMLInputElement | HTMLSelectElement>(`[name="${name}"]`);
      if (field) field.value = value;
    }
  }, [JSON.stringify(asked)]);
  return (
    <Form
      label={label}
      submit={submit}
      does={async (fields) => {
        const values = Object.keys(asked).map((name) => [name, text(fields, name).trim()]);
        go(`#/${place}?${new URLSearchParams(values.filter(([, value]) => value))}`);
      }}
    >
      <div class="row" ref={row}>
        {children}
      </div>
    </Form>
  );
}
