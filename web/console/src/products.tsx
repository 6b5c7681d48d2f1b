// The catalog: lists, creates, changes and deletes products.

import type { components } from "@agora/client";
import { useState } from "preact/hooks";
import { Action, Form, Input, List, More, Show, text, Title } from "../../shared/basics";
import { ignoreNotFound, useSendOnce, useList, useLoaded } from "../../shared/load";
import { QueryForm } from "../../shared/query";
import { at, go } from "../../shared/router";
import { agora } from "../../shared/session";
import { Transfer } from "./transfer";

type Product = components["schemas"]["Product"];

export function Products({ query }: { query: URLSearchParams }) {
  const q = query.get("q") ?? "";
  const sendOnce = useSendOnce();
  const [turn, setTurn] = useState(0);
  return (
    <>
      <Title>Products</Title>
      <QueryForm label="Find products" place="products" asked={{ q }}>
        <Input label="Words" name="q" type="search" value={q} />
      </QueryForm>
      <More label="New product">
        <ProductForm
          submit="Create product"
          does={(fields) => {
            const body = read(fields);
            return sendOnce(JSON.stringify(body), async (header) => {
              go(at("products", (await agora.post("/api/products", { params: { header }, body })).product.id));
            });
          }}
        />
      </More>
      <Transfer onDone={() => setTurn((turn) => turn + 1)} />
      <Found key={`${q} ${turn}`} q={q} />
    </>
  );
}

function Found({ q }: { q: string }) {
  const query = { size: 20, ...(q && { q }) };
  const products = useList(() => agora.list("/api/products/findAll", { params: { query } }), []);
  return (
    <List of={products} label="Products" empty="There are no such products.">
      {(product) => (
        <div class="person">
          <a class="user" href={at("products", product.id)}>
            {product.name} <span class="faint">{product.sku}</span>
          </a>
          <span class="faint">{product.category}</span>
          <span>{product.price.toFixed(2)}</span>
          <span class="faint">{product.stock} in stock</span>
        </div>
      )}
    </List>
  );
}

export function ProductPage({ id }: { id: string }) {
  const path = { id };
  const product = useLoaded(async () => (await agora.get("/api/products/{id}", { params: { path } })).product, [id]);
  return (
    <Show of={product} title="Product">
      {(data) => (
        <>
          <Title>{data.name}</Title>
          <ProductForm
            product={data}
            submit="Save product"
            does={async (fields) => {
              // Send only the changed fields: others may have changed meanwhile, such as the stock by orders.
              const changed = Object.entries(read(fields)).filter(([name, value]) => value !== data[name as keyof Product]);
              const body = Object.fromEntries(changed) as Partial<ReturnType<typeof read>>;
              const { product: saved } = await agora.put("/api/products/{id}", { params: { path }, body });
              product.change(() => saved);
            }}
          />
          <More label="Delete">
            <Action
              kind="danger"
              does={async () => {
                await ignoreNotFound(agora.delete("/api/products/{id}", { params: { path } }));
                go("#/products");
              }}
            >
              Delete this product for good
            </Action>
          </More>
        </>
      )}
    </Show>
  );
}

function read(fields: FormData) {
  const stock = fields.get("stock");
  return {
    sku: text(fields, "sku"),
    name: text(fields, "name"),
    category: text(fields, "category"),
    description: text(fields, "description"),
    price: Number(text(fields, "price")),
    ...(stock !== null && { stock: Number(stock) }),
  };
}

function ProductForm(props: { product?: Product; submit: string; does: (fields: FormData) => Promise<void> }) {
  const { product } = props;
  return (
    <Form label={props.submit} submit={props.submit} does={props.does} done="Saved.">
      <div class="row">
        <Input label="SKU" name="sku" value={product?.sku ?? ""} required />
        <Input label="Name" name="name" value={product?.name ?? ""} required />
        <Input label="Category" name="category" value={product?.category ?? ""} required />
        <Input label="Price" name="price" type="number" step="any" value={String(product?.price ?? "")} required />
        {/* The stock of a product with variants is that of its variants. */}
        {!product?.variants.length && (
          <Input label="In stock" name="stock" type="number" value={String(product?.stock ?? 0)} required />
        )}
      </div>
      <label>
        Description
        <textarea name="description" rows={4} defaultValue={product?.description ?? ""} />
      </label>
    </Form>
  );
}
