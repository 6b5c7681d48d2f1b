// The catalog as a file: the rows that `agora products` imports and exports.

import { AgoraError, type components } from "@agora/client";
import { agora } from "../../shared/session";
import { inWords } from "../../shared/words";

type Product = components["schemas"]["Product"];

/** The fields of a row, in the order of an export. */
const FIELDS = ["sku", "name", "description", "price", "category", "stock", "variants", "images"] as const;
type Field = (typeof FIELDS)[number];

/** A row of a file: where it is, and what it gives. */
export interface Row {
  number: number;
  sku: string;
  fields: Partial<Pick<Product, Field>>;
}

/** Why a row was not taken over. */
export interface Refusal {
  id: string;
  reason: string;
}

/** What is in a file: a JSON array, or a JSON object a line. */
export function parse(text: string): { rows: Row[]; refusals: Refusal[] } {
  const [rows, refusals, seen]: [Row[], Refusal[], Map<string, number>] = [[], [], new Map()];
  for (const [index, piece] of pieces(text).entries()) {
    const number = index + 1;
    if ("fault" in piece) {
      refusals.push(refusal(number, "", piece.fault));
      continue;
    }
    const { json } = piece;
    const sku = isObject(json) && typeof json["sku"] === "string" ? json["sku"].trim() : "";
    const fault = faultOf(json, sku, seen);
    if (fault) refusals.push(refusal(number, sku, fault));
    else rows.push({ number, sku, fields: json as Row["fields"] });
    if (sku && !seen.has(key(sku))) seen.set(key(sku), number);
  }
  return { rows, refusals };
}

/** What a row of a file says, or why it is no JSON. */
type Piece = { json: unknown } | { fault: string };

function pieces(text: string): Piece[] {
  if (text.trimStart().startsWith("[")) {
    const all = piece(text);
    return "json" in all ? (all.json as unknown[]).map((json) => ({ json })) : [all];
  }
  return text
    .split("\n")
    .filter((line) => line.trim())
    .map(piece);
}

function piece(text: string): Piece {
  try {
    return { json: JSON.parse(text) as unknown };
  } catch (error) {
    return { fault: String(error) };
  }
}

function isObject(json: unknown): json is Record<string, unknown> {
  return typeof json === "object" && json !== null && !Array.isArray(json);
}

function faultOf(json: unknown, sku: string, seen: Map<string, number>): string {
  if (!isObject(json)) return "It is no JSON object.";
  const unknown = Object.keys(json).filter((name) => !(FIELDS as readonly string[]).includes(name));
  if (unknown.length > 0) return `There is no such field: ${unknown.join(", ")}.`;
  if (!sku) return "It has no SKU.";
  const before = seen.get(key(sku));
  return before === undefined ? "" : `Row ${before} has this SKU already.`;
}

function refusal(number: number, sku: string, reason: string): Refusal {
  return { id: String(number), reason: `Row ${number}${sku ? ` (${sku})` : ""}: ${reason}` };
}

/** What SKUs are compared by: any letter case. */
function key(sku: string): string {
  // Upper case first: it makes SS of ß, as the service does.
  return sku.normalize("NFKC").toUpperCase().toLowerCase();
}

/** What a row did to the catalog. */
export type Change = "created" | "updated" | "unchanged";

/** Takes a row over: a product with its SKU is changed in what the row gives; without one, a product is created. */
export async function take(row: Row): Promise<Change | Refusal> {
  try {
    const found = await find(row.sku);
    if (found === undefined) {
      // What is missing, the service says.
      await agora.post("/api/products", { body: row.fields as Product });
      return "created";
    }
    const params = { path: { id: found.id } };
    const { product } = await agora.put("/api/products/{id}", { params, body: row.fields });
    return product.updatedAt === found.updatedAt ? "unchanged" : "updated";
  } catch (error) {
    // The others need not be tried where nobody answers, or nobody is logged in any more.
    if (!(error instanceof AgoraError) || error.status === 401 || error.status >= 500) throw error;
    return refusal(row.number, row.sku, inWords(error));
  }
}

async function find(sku: string): Promise<Product | undefined> {
  for await (const product of agora.list("/api/products/findAll", { params: { query: { q: sku, size: 100 } } })) {
    if (key(product.sku) === key(sku)) return product;
  }
  return undefined;
}

/** All products, a JSON object a line. */
export async function exported(onRead: (count: number) => void): Promise<Blob> {
  const lines: string[] = [];
  for await (const product of agora.list("/api/products/findAll", { params: { query: { size: 100 } } })) {
    lines.push(`${JSON.stringify(Object.fromEntries(FIELDS.map((field) => [field, product[field]])))}\n`);
    if (lines.length % 100 === 0) onRead(lines.length);
  }
  onRead(lines.length);
  return new Blob(lines, { type: "application/jsonl" });
}
