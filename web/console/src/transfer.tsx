// The forms to import and export the catalog.

import { useState } from "preact/hooks";
import { Download, file, Form, Input, More } from "../../shared/basics";
import { useIsMounted } from "../../shared/load";
import { count } from "../../shared/words";
import { type Change, exportProducts, importRow, parse, type Refusal } from "./catalog";

/** The maximum size of a file to import, in bytes. */
const MAX_SIZE = 32 << 20;

export function Transfer({ onDone }: { onDone: () => void }) {
  const [read, setRead] = useState(0);
  return (
    <>
      <More label="Import">
        <Import onDone={onDone} />
      </More>
      <More label="Export">
        <p class="faint">
          One JSON object per line, for <code>agora products import</code> or the import here. Changes during the export may be included or
          not.
        </p>
        <Download label="Collect all products" save="Save the products" name="products.jsonl" make={() => exportProducts(setRead)} />
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
  const isMounted = useIsMounted();

  async function work(fields: FormData) {
    setProgress(undefined);
    const chosen = file(fields, "file");
    if (chosen === undefined) return;
    if (chosen.size > MAX_SIZE) return setProgress(refused("The file is too large for the browser: use the command agora products import."));
    const { rows, refusals } = parse(await chosen.text());
    const now: Progress = { all: rows.length + refusals.length, done: { created: 0, updated: 0, unchanged: 0, refused: refusals.length }, refusals, isEnded: false };
    // A file with malformed rows changes nothing.
    if (refusals.length > 0 || rows.length === 0) {
      return setProgress(rows.length + refusals.length === 0 ? refused("The file has no rows.") : { ...now, isEnded: true });
    }
    for (const row of rows) {
      if (!isMounted.current) return;
      setProgress({ ...now, done: { ...now.done }, refusals: [...now.refusals] });
      const result = await importRow(row).catch((error: unknown) => {
        setProgress({ ...now, isEnded: true });
        throw error;
      });
      if (typeof result === "string") now.done[result] += 1;
      else {
        now.done.refused += 1;
        now.refusals.push(result);
      }
    }
    setProgress({ ...now, isEnded: true });
    onDone();
  }

  return (
    <>
      <p class="faint">
        A JSON file with one object per line, or an array of objects, like that of <code>agora products export</code>. If a product has
        the SKU of a row, the import updates the fields in the row. Otherwise it creates a product. Rows are imported one by one: those
        before a failure stay.
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
      {all > 0 && !isEnded && <progress aria-label="Imported rows" max={all} value={sum} />}
      <p role="status">{isEnded && `${sum < all ? "Stopped" : "Done"}: ${words}`}</p>
      {refusals.length > 0 && (
        <ul class="list" aria-label="Refused rows">
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
