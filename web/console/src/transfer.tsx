// The catalog from a file, and into one.

import { useState } from "preact/hooks";
import { Download, file, Form, Input, More } from "../../shared/basics";
import { useIsThere } from "../../shared/load";
import { count } from "../../shared/words";
import { type Change, exported, parse, type Refusal, take } from "./catalog";

/** The most bytes of a file that is imported here. */
const LARGEST = 32 << 20;

export function Transfer({ onDone }: { onDone: () => void }) {
  const [read, setRead] = useState(0);
  return (
    <>
      <More label="Import">
        <Import onDone={onDone} />
      </More>
      <More label="Export">
        <p class="faint">
          A JSON object a line, for <code>agora products import</code> or the import here. What others change meanwhile may be in it or not.
        </p>
        <Download label="Collect all products" save="Save the products" name="products.jsonl" make={() => exported(setRead)} />
        <p role="status">{read > 0 && `${count(read, "product")} collected.`}</p>
      </More>
    </>
  );
}

interface Progress {
  all: number;
  done: Record<Change | "refused", number>;
  refusals: Refusal[];
  isEnded: boolean;
}

function Import({ onDone }: { onDone: () => void }) {
  const [progress, setProgress] = useState<Progress | undefined>(undefined);
  const isThere = useIsThere();

  async function work(fields: FormData) {
    setProgress(undefined);
    const chosen = file(fields, "file");
    if (chosen === undefined) return;
    if (chosen.size > LARGEST) return setProgress(refused("The file is too large for the browser: use the command."));
    const { rows, refusals } = parse(await chosen.text());
    const now: Progress = { all: rows.length + refusals.length, done: { created: 0, updated: 0, unchanged: 0, refused: refusals.length }, refusals, isEnded: false };
    // Nothing is changed by a file that is not understood.
    if (refusals.length > 0 || rows.length === 0) {
      return setProgress(rows.length + refusals.length === 0 ? refused("There is nothing in the file.") : { ...now, isEnded: true });
    }
    for (const row of rows) {
      if (!isThere.current) return;
      setProgress({ ...now, done: { ...now.done }, refusals: [...now.refusals] });
      const taken = await take(row).catch((error: unknown) => {
        setProgress({ ...now, isEnded: true });
        throw error;
      });
      if (typeof taken === "string") now.done[taken] += 1;
      else {
        now.done.refused += 1;
        now.refusals.push(taken);
      }
    }
    setProgress({ ...now, isEnded: true });
    onDone();
  }

  return (
    <>
      <p class="faint">
        A file of JSON, an object a line or one array of objects, as <code>agora products export</code> makes it. A product with the SKU of a row is
        changed in what the row gives; without one, a product is created. Rows are taken over one by one: what was done before a failure stays.
      </p>
      <Form label="Import products" submit="Import" does={work}>
        <Input label="File" name="file" type="file" accept=".json,.jsonl,.ndjson" required />
      </Form>
      {progress && <Shown of={progress} />}
    </>
  );
}

function refused(reason: string): Progress {
  return { all: 0, done: { created: 0, updated: 0, unchanged: 0, refused: 0 }, refusals: [{ id: "file", reason }], isEnded: true };
}

function Shown({ of: { all, done, refusals, isEnded } }: { of: Progress }) {
  const sum = done.created + done.updated + done.unchanged + done.refused;
  const words = `${count(done.created, "product")} created, ${done.updated} updated, ${done.unchanged} unchanged, ${count(done.refused, "row")} refused.`;
  return (
    <>
      {all > 0 && !isEnded && <progress aria-label="Rows taken over" max={all} value={sum} />}
      <p role="status">{isEnded && `${sum < all ? "Stopped" : "Done"}: ${words}`}</p>
      {refusals.length > 0 && (
        <ul class="list" aria-label="Rows that were refused">
          {refusals.map(({ id, reason }) => (
            <li key={id} class="failure">
              {reason}
            </li>
          ))}
        </ul>
      )}
    </>
  );
}
