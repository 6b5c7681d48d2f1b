// Generates src/document.ts, the types of the interface, from the OpenAPI document of this repository, or from the one at the
// given address.

import { readFile, writeFile } from "node:fs/promises";
import openapiTS, { astToString } from "openapi-typescript";
import ts from "typescript";

const address = new URL(process.argv[2] ?? "../../docs/openapi.json", import.meta.url);
const document = JSON.parse(
  address.protocol === "file:" ? await readFile(address, "utf8") : await (await fetch(address)).text(),
);

const blob = ts.factory.createTypeReferenceNode("Blob");
const types = await openapiTS(structuredClone(document), {
  // Without this, files are strings.
  transform: (schema) => (schema.format === "binary" ? blob : undefined),
});

/** Whether an operation accepts this header. */
const takes = (header, { parameters = [] }) =>
  parameters.some(({ $ref = "", name = document.components.parameters[$ref.split("/").at(-1)]?.name }) => name === header);
const keyed = Object.entries(document.paths)
  .filter(([, { post }]) => post && takes("Idempotency-Key", post))
  .map(([path]) => path);
/** Whether an operation responds with a file. */
const givesFile = ({ responses }) =>
  Object.entries(responses).some(
    ([status, { content = {} }]) =>
      status.startsWith("2") && Object.values(content).some(({ schema }) => schema?.format === "binary"),
  );
const files = Object.entries(document.paths).flatMap(([path, operations]) =>
  ["get", "put", "post", "delete"]
    .filter((method) => operations[method] && givesFile(operations[method]))
    .map((method) => `${method} ${path}`),
);

await writeFile(
  new URL("src/document.ts", import.meta.url),
  `// Generated from the OpenAPI document by generate.mjs.

${astToString(types)}
/** The paths whose POST accepts an \`Idempotency-Key\`. */
export const TAKES_IDEMPOTENCY_KEY: ReadonlySet<string> = new Set(${JSON.stringify(keyed, null, 2)});

/** The operations that respond with a file. */
export const GIVES_FILE: ReadonlySet<string> = new Set(${JSON.stringify(files, null, 2)});
`,
);
