// What the tests of the pages share. They are run with the address of the service in AGORA, and the program of the browser in
// CHROMIUM. With SCREENSHOTS, pictures are written there.

import assert from "node:assert/strict";
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { connect, createServer } from "node:net";
import { after, before } from "node:test";
import { createClient } from "@agora/client";
import { chromium } from "playwright-core";

const { CHROMIUM: program = "/usr/bin/chromium", SCREENSHOTS: screenshots } = process.env;
/** The address of the service, whose data directory is fresh but for an administrator root. */
export const service = process.env.AGORA;
assert(service, "AGORA is the address of the service");
const axe = await readFile(new URL("../node_modules/axe-core/axe.min.js", import.meta.url), "utf8");
export const PASSWORD = "correct horse";
/** A file of a picture. */
export const PICTURE = {
  name: "picture.png",
  mimeType: "image/png",
  buffer: Buffer.from(
    "iVBORw0KGgoAAAANSUhEUgAAAAIAAAACCAIAAAD91JpzAAAAEElEQVR42mM4YQMEJxggFAAjDgUBIzBI6wAAAABJRU5ErkJggg==",
    "base64",
  ),
};
/** What takes longer never happens, in milliseconds. */
const PATIENCE = 90_000;
let browser;
before(async () => {
  browser = await chromium.launch({
    executablePath: program,
    timeout: PATIENCE,
    // As root there is no sandbox; and nothing of its own is asked of other hosts.
    args: ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-component-update"].concat(
      ["--disable-background-networking", "--disable-sync"],
    ),
  });
});
after(() => browser?.close());

/** Somebody who uses the interface. */
export async function join(username) {
  const email = `${username}@example.org`;
  const anybody = createClient({ service });
  await anybody.post("/api/auth/register", { body: { username, email, password: PASSWORD } });
  const { token } = await anybody.post("/api/auth/login", { body: { identifier: username, password: PASSWORD } });
  const client = createClient({ service, token });
  return { client, id: (await client.get("/api/users/me")).data.id };
}

/** A way to the service that can be cut: its address, and what ends every connection over it. */
export async function wayToService(context) {
  const connections = new Set();
  const { hostname, port } = new URL(service);
  const way = createServer((near) => {
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
  way.listen(0, "127.0.0.1");
  await once(way, "listening");
  const cut = () => {
    for (const connection of connections) connection.destroy();
    connections.clear();
  };
  context.after(() => {
    cut();
    way.close();
  });
  return { address: `http://127.0.0.1:${way.address().port}`, cut };
}

/** A browser's window that fails the test when something is wrong in it, or when it asks another host. */
export async function open(context, name, width, address = service) {
  const page = await (await browser.newContext({ viewport: { width, height: 800 } })).newPage();
  page.setDefaultTimeout(PATIENCE);
  const faults = [];
  page.on("console", (message) => {
    // A refusal that the page shows is in the console as well, and so is a connection that was cut.
    const isExpected = /^Failed to load resource: (the server responded with a status of 4|net::ERR_)/.test(message.text());
    if (message.type() === "error" && !isExpected) faults.push(message.text());
  });
  page.on("pageerror", (error) => faults.push(String(error)));
  page.on("request", (request) => {
    const isOurs = [service, address].some((it) => request.url().startsWith(it)) || /^(blob|data):/.test(request.url());
    if (!isOurs) faults.push(request.url());
  });
  context.after(async () => {
    await page.context().close();
    assert.deepEqual(faults, []);
  });
  await page.goto(`${address}/${name}/`);
  return page;
}

export const heading = (page, name) => page.getByRole("heading", { level: 1, name }).waitFor();

/** Checks what is shown for those who do not see it, or use no mouse; and takes a picture of it. */
export async function check(page, name) {
  // The policy of the page lets no script in but its own: this one comes with the tools of the browser.
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

/** The widths of a phone's window and of a large one. */
export const SIZES = [
  ["narrow", 360],
  ["wide", 1280],
];
