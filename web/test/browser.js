// Helpers of the tests of the pages. AGORA is the address of the service, and CHROMIUM the path of the browser. If SCREENSHOTS is
// set, screenshots are written to that directory.

import assert from "node:assert/strict";
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { connect, createServer } from "node:net";
import { after, before } from "node:test";
import { createClient } from "@agora/client";
import { chromium } from "playwright-core";

const { CHROMIUM: program = "/usr/bin/chromium", SCREENSHOTS: screenshots } = process.env;
/** The address of the service, whose database has no account but the administrator root. */
export const service = process.env.AGORA;
assert(service, "AGORA is the address of the service");
const axe = await readFile(new URL("../node_modules/axe-core/axe.min.js", import.meta.url), "utf8");
export const PASSWORD = "correct horse";
/** A picture of 2 x 2 pixels. */
export const PICTURE = {
  name: "picture.png",
  mimeType: "image/png",
  buffer: Buffer.from(
    "iVBORw0KGgoAAAANSUhEUgAAAAIAAAACCAIAAAD91JpzAAAAEElEQVR42mM4YQMEJxggFAAjDgUBIzBI6wAAAABJRU5ErkJggg==",
    "base64",
  ),
};
/** The timeout of every wait, in milliseconds. */
const TIMEOUT = 90_000;
let browser;
before(async () => {
  browser = await chromium.launch({
    executablePath: program,
    timeout: TIMEOUT,
    // The sandbox does not work as root. The other flags stop the browser's own requests to other hosts.
    args: ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-component-update"].concat(
      ["--disable-background-networking", "--disable-sync"],
    ),
  });
});
after(() => browser?.close());

/** Registers a user, and returns a client that is logged in. */
export async function join(username) {
  const email = `${username}@example.org`;
  const anybody = createClient({ service });
  await anybody.post("/api/auth/register", { body: { username, email, password: PASSWORD } });
  const { token } = await anybody.post("/api/auth/login", { body: { identifier: username, password: PASSWORD } });
  const client = createClient({ service, token });
  return { client, id: (await client.get("/api/users/me")).data.id };
}

/** Starts a proxy in front of the service. Returns its address, and a function that closes all its connections. */
export async function startProxy(context) {
  const connections = new Set();
  const { hostname, port } = new URL(service);
  const proxy = createServer((near) => {
    const far = connect(Number(port), hostname);
    for (const [one, other] of [
      [near, far],
      [far, near],
    ]) {
      connections.add(one);
      one.pipe(other);
      one.on("error", () => other.destroy());
      one.on("close", () => other.destroy());
    }
  });
  proxy.listen(0, "127.0.0.1");
  await once(proxy, "listening");
  const cut = () => {
    for (const connection of connections) connection.destroy();
    connections.clear();
  };
  context.after(() => {
    cut();
    proxy.close();
  });
  return { address: `http://127.0.0.1:${proxy.address().port}`, cut };
}

/** Opens a page. The test fails if there is an error in its console, or if it sends a request to another host. */
export async function open(context, name, width, address = service) {
  const page = await (await browser.newContext({ viewport: { width, height: 800 } })).newPage();
  page.setDefaultTimeout(TIMEOUT);
  const errors = [];
  page.on("console", (message) => {
    // The browser logs refused requests, which the page shows, and closed connections.
    const isExpected = /^Failed to load resource: (the server responded with a status of 4|net::ERR_)/.test(message.text());
    if (message.type() === "error" && !isExpected) errors.push(message.text());
  });
  page.on("pageerror", (error) => errors.push(String(error)));
  page.on("request", (request) => {
    const isOurs = [service, address].some((it) => request.url().startsWith(it)) || /^(blob|data):/.test(request.url());
    if (!isOurs) errors.push(request.url());
  });
  context.after(async () => {
    await page.context().close();
    assert.deepEqual(errors, []);
  });
  await page.goto(`${address}/${name}/`);
  return page;
}

export const heading = (page, name) => page.getByRole("heading", { level: 1, name }).waitFor();

/** Checks the accessibility of the page, and that it fits into the window. Takes a screenshot. */
export async function check(page, name) {
  // The Content-Security-Policy allows only the page's own scripts. `evaluate` is not subject to it.
  await page.evaluate(axe);
  const { violations } = await page.evaluate(() => globalThis.axe.run());
  const serious = violations.filter(({ impact }) => impact === "serious" || impact === "critical");
  assert.deepEqual(
    serious.map(({ id, nodes }) => [id, nodes.map(({ html }) => html)]),
    [],
    name,
  );
  const overflow = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
  assert(overflow <= 0, `${name} is ${overflow} pixels wider than the window`);
  if (screenshots) await page.screenshot({ path: `${screenshots}/${name}.png` });
}

/** The width of a phone and of a desktop window. */
export const SIZES = [
  ["narrow", 360],
  ["wide", 1280],
];
