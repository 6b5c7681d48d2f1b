// Import and export of the catalog, with the same rows as `agora products`.

import { AgoraError, type components } from "@agora/client";
import { agora } from "../../shared/session";
import { errorMessage } from "../../shared/words";

type Product = components["schemas"]["Product"];

/** The fields of a row, in the order of an export. */
const FIELDS = ["sku", "name", "description", "price", "category", "stock", "variants", "images"] as const;
type Field = (typeof FIELDS)[number];

/** A row of a file: its number and its fields. */
export interface Row {
  number: number;
  sku: string;
  fields: Partial<Pick<Product, Field>>;
}

/** The reason why a row was not imported. */
export interface Refusal {
  id: string;
  reason: string;
}

/** Parses a file: a JSON array, or one JSON object per line. */
export function parse(text: string): { rows: Row[]; refusals: Refusal[] } {
  const [rows, refusals, seen]: [Row[], Refusal[], Map<string, number>] = [[], [], new Map()];
  for (const [index, record] of records(text).entries()) {
    const number = index + 1;
    if ("error" in record) {
      refusals.push(refusal(number, "", record.error));
      continue;
    }
    const { json } = record;
    const sku = isObject(json) && typeof json["sku"] === "string" ? json["sku"].trim() : "";
    const error = validate(json, sku, seen);
    if (error) refusals.push(refusal(number, sku, error));
    else rows.push({ number, sku, fields: json as Row["fields"] });
    if (sku && !seen.has(key(sku))) seen.set(key(sku), number);
  }
  return { rows, refusals };
}

/** The JSON of a row, or why it cannot be parsed. */
type ParsedRecord = { json: unknown } | { error: string };

function records(text: string): ParsedRecord[] {
  if (text.trimStart().startsWith("[")) {
    const all = parseRecord(text);
    return "json" in all ? (all.json as unknown[]).map((json) => ({ json })) : [all];
  }
  return text
    .split("\n")
    .filter((line) => line.trim())
    .map(parseRecord);
}

function parseRecord(text: string): ParsedRecord {
  try {
    return { json: JSON.parse(text) as unknown };
  } catch (error) {
    return { error: String(error) };
  }
}

function isObject(json: unknown): json is Record<string, unknown> {
  return typeof json === "object" && json !== null && !Array.isArray(json);
}

/** Returns why a row cannot be imported, or an empty string. */
function validate(json: unknown, sku: string, seen: Map<string, number>): string {
  if (!isObject(json)) return "This is not a JSON object.";
  const unknown = Object.keys(json).filter((name) => !(FIELDS as readonly string[]).includes(name));
  if (unknown.length > 0) return `Unknown fields: ${unknown.join(", ")}.`;
  if (!sku) return "It has no SKU.";
  const before = seen.get(key(sku));
  return before === undefined ? "" : `Row ${before} has this SKU already.`;
}

function refusal(number: number, sku: string, reason: string): Refusal {
  return { id: String(number), reason: `Row ${number}${sku ? ` (${sku})` : ""}: ${reason}` };
}

/** Returns the form in which SKUs are compared, regardless of letter case. */
function key(sku: string): string {
  // Upper case first: this turns ß into SS, as the service does.
  return sku.normalize("NFKC").toUpperCase().toLowerCase();
}

/** The effect of a row on the catalog. */
export type Change = "created" | "updated" | "unchanged";

/** Imports a row: updates the fields of the product with its SKU, or creates a product if there is none. */
export async function importRow(row: Row): Promise<Change | Refusal> {
  try {
    const found = await find(row.sku);
    if (found === undefined) {
      // The service names the fields that are missing.
      await agora.post("/api/products", { body: row.fields as Product });
      return "created";
    }
    const params = { path: { id: found.id } };
    const { product } = await agora.put("/api/products/{id}", { params, body: row.fields });
    return product.updatedAt === found.updatedAt ? "unchanged" : "updated";
  } catch (error) {
    // Stop if the service is unavailable or refuses any request of this user: the other rows would fail too.
    if (!(error instanceof AgoraError) || [401, 403, 429].includes(error.status) || error.status >= 500) throw error;
    return refusal(row.number, row.sku, errorMessage(error));
  }
}

async function find(sku: string): Promise<Product | undefined> {
  for await (const product of agora.list("/api/products/findAll", { params: { query: { q: sku, size: 100 } } })) {
    if (key(product.sku) === key(sku)) return product;
  }
  return undefined;
}

/** Returns a file of all products, with one JSON object per line. */
export async function exportProducts(onRead: (count: number) => void): Promise<Blob> {
  const lines: string[] = [];
  for await (const product of agora.list("/api/products/findAll", { params: { query: { size: 100 } } })) {
    lines.push(`${JSON.stringify(Object.fromEntries(FIELDS.map((field) => [field, product[field]])))}\n`);
    if (lines.length % 100 === 0) onRead(lines.length);
  }
  onRead(lines.length);
  return new Blob(lines, { type: "application/jsonl" });
}
