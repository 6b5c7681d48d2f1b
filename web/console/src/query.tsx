// Lists that are asked for something: what is asked stands in the address.

import type { ComponentChildren } from "preact";
import { Form, text } from "../../shared/basics";
import { go } from "../../shared/router";

/** A form whose fields, those that are not empty, become the query of a place. */
export function QueryForm(props: { label: string; place: string; fields: string[]; children: ComponentChildren }) {
  return (
    <Form
      label={props.label}
      submit="Show"
      does={async (fields) => {
        const asked = props.fields.map((name) => [name, text(fields, name).trim()]).filter(([, value]) => value);
        go(`#/${props.place}?${new URLSearchParams(asked)}`);
      }}
    >
      <div class="row">{props.children}</div>
    </Form>
  );
}
