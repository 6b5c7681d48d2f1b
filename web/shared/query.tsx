// Lists that are asked for something: what is asked stands in the address.

import type { ComponentChildren } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";
import { Form, text } from "./basics";
import { go } from "./router";

/** A form whose fields, those that are not empty, become the query of a place. `asked` is what they have now, by their names. */
export function QueryForm(props: {
  label: string;
  submit?: string;
  place: string;
  asked: Record<string, string>;
  children: ComponentChildren;
}) {
  const { label, submit = "Show", place, asked, children } = props;
  const row = useRef<HTMLDivElement>(null);
  // The form stays when something else is asked: whoever asked has the focus in it. Nothing is typed before this is done.
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
        const given = Object.keys(asked).map((name) => [name, text(fields, name).trim()]);
        go(`#/${place}?${new URLSearchParams(given.filter(([, value]) => value))}`);
      }}
    >
      <div class="row" ref={row}>
        {children}
      </div>
    </Form>
  );
}
