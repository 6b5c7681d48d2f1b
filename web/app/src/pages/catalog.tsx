// The public catalog of products.

import type { components } from "@agora/client";
import { Fragment } from "preact";
import { useList, useLoaded } from "../../../shared/load";
import { Input, List, Show, Title } from "../../../shared/basics";
import { QueryForm } from "../../../shared/query";
import { at } from "../../../shared/router";
import { agora } from "../../../shared/session";
import { count } from "../../../shared/words";

type Product = components["schemas"]["Product"];

const price = new Intl.NumberFormat("en", { minimumFractionDigits: 2 });

export function ProductRow({ product }: { product: Product }) {
  return (
    <div class="person">
      <a class="user" href={at("product", product.id)}>
        {product.name} <span class="faint">{product.category}</span>
      </a>
      <span>{price.format(product.price)}</span>
    </div>
  );
}

export function Catalog({ query }: { query: URLSearchParams }) {
  const q = query.get("q") ?? "";
  const options = { params: { query: { size: 20, ...(q && { q }) } } };
  const products = useList(() => agora.list("/api/products/findAll", options), [q]);
  return (
    <>
      <Title>Products</Title>
      <QueryForm label="Search products" submit="Search" place="products" asked={{ q }}>
        <Input label="Words" name="q" type="search" value={q} />
      </QueryForm>
      <List of={products} label="Products" empty="There are no such products.">
        {(product) => <ProductRow product={product} />}
      </List>
    </>
  );
}

export function ProductPage({ id }: { id: string }) {
  const product = useLoaded(async () => (await agora.get("/api/products/{id}", { params: { path: { id } } })).product, [id]);
  return (
    <Show of={product} title="Product">
      {(data) => (
        <>
          <Title small={<span class="faint">{data.sku}</span>}>{data.name}</Title>
          <p class="text">{data.description}</p>
          <dl>
            <dt>Price</dt>
            <dd>{price.format(data.price)}</dd>
            <dt>Category</dt>
            <dd>{data.category}</dd>
            <dt>In stock</dt>
            <dd>{count(data.stock, "piece")}</dd>
            {data.variants.map((variant) => (
              <Fragment key={`${variant.size} ${variant.color}`}>
                <dt>
                  {variant.size} {variant.color}
                </dt>
                <dd>{count(variant.stock, "piece")}</dd>
              </Fragment>
            ))}
          </dl>
          {/* Links instead of images: they are at other hosts, which must not be contacted unless the user asks for it. */}
          <ul>
            {data.images.map((image, place) => (
              <li key={image}>
                <a href={image} rel="noopener noreferrer" target="_blank">
                  Picture {place + 1}
                </a>
              </li>
            ))}
          </ul>
        </>
      )}
    </Show>
  );
}
