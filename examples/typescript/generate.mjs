// Writes agora.d.ts, the types of the interface: from the OpenAPI document of this repository, or from the one at the
// address that is given.

import { writeFile } from "node:fs/promises";
import openapiTS, { astToString } from "openapi-typescript";
import ts from "typescript";

const document = new URL(process.argv[2] ?? "../../docs/openapi.json", import.meta.url);
const blob = ts.factory.createTypeReferenceNode("Blob");

const types = await openapiTS(document, {
  // Without this, files are strings.
  transform: (schema) => (schema.format === "binary" ? blob : undefined),
});
await writeFile(new URL("agora.d.ts", import.meta.url), astToString(types));
