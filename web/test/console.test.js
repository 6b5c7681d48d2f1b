// The console in a browser, with a running service whose administrator is root.

import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { test } from "node:test";
import { check, heading, join, open, PASSWORD, SIZES, service } from "./browser.js";
import { createClient } from "@agora/client";

/** Follows a link that downloads a file, and returns the file. */
async function download(page, link) {
  const [file] = await Promise.all([page.waitForEvent("download"), page.getByRole("link", { name: link }).click()]);
  return readFile(await file.path());
}

for (const [size, width] of SIZES) {
  test(`an administrator uses every page, in a ${size} window`, async (context) => {
    const author = await join(`author-${size}`);
    const witness = await join(`witness-${size}`);
    const posts = [];
    for (const text of ["First", "Second", "Third"]) {
      const { data } = await author.client.post("/api/posts/create", { body: { text: `${text} ${size}` } });
      const body = { targetType: "POST", targetId: data.id, category: "SPAM", comment: `${text} is spam` };
      await witness.client.post("/api/reports", { body });
      posts.push(data.id);
    }
    const page = await open(context, "console", width);
    const to = async (place, title = place) => {
      await page.getByRole("navigation", { name: "Main" }).getByRole("link", { name: place }).click();
      await heading(page, title);
    };
    const logIn = async (name) => {
      await heading(page, "Log in");
      await page.getByLabel("Username or email address").fill(name);
      await page.getByLabel("Password").fill(PASSWORD);
      await page.getByRole("button", { name: "Log in" }).click();
    };

    // Other users are refused.
    await check(page, `${size}-console-login`);
    await logIn(`author-${size}`);
    await heading(page, "Not for this account");
    await page.getByRole("button", { name: "Log out" }).click();
    await logIn("root");
    await heading(page, "Dashboard");

    // The dashboard.
    await page.getByRole("img", { name: /^Requests per minute\. [\d,]+ requests? in the last hour/ }).waitFor();
    await page.getByText("migrations").waitFor();
    await page.getByText("As a table").click();
    await page.getByRole("row").nth(60).waitFor();
    assert.equal(await page.getByRole("row").count(), 61);
    await check(page, `${size}-console-table`);
    await page.getByText("As a table").click();
    await page.getByRole("term").filter({ hasText: "Open reports" }).waitFor();
    await check(page, `${size}-console-dashboard`);
    await to("Reports");

    // Reports are decided with the keyboard, newest first.
    const report = (words) => page.getByRole("article", { name: `Report by witness-${size}` }).filter({ hasText: `${words} is spam` });
    const isHidden = async (post) => {
      const path = { postId: post };
      const answer = await witness.client.get("/api/posts/by-id/{postId}", { params: { path } }).catch(({ code }) => code);
      return answer === "post_not_found";
    };
    await page.getByText(`First ${size}`).waitFor();
    await check(page, `${size}-console-reports`);
    const remaining = async (...words) => {
      for (const word of ["First", "Second", "Third"]) {
        await report(word).first().waitFor({ state: words.includes(word) ? "visible" : "detached" });
      }
    };
    await report("Second").focus();
    await page.keyboard.press("h");
    await remaining("First", "Third");
    assert.deepEqual([await isHidden(posts[0]), await isHidden(posts[1])], [false, true]);
    await report("First").focus();
    await page.keyboard.press("k");
    assert(await report("Third").evaluate((row) => row === document.activeElement));
    await page.keyboard.press("x");
    await remaining("First");
    await report("First").getByText("Decide with a note").click();
    await report("First").getByLabel("Note").fill("Talked to them");
    await report("First").getByRole("button", { name: "Decide" }).click();
    await remaining();
    assert.notEqual(await page.evaluate(() => document.activeElement?.tagName), "BODY");
    await page.getByRole("link", { name: "Resolved" }).click();
    await report("First").getByText("Talked to them").waitFor();
    await check(page, `${size}-console-resolved`);

    // A post is shown again.
    await to("Posts");
    const second = page.getByRole("article", { name: `Post by author-${size}` }).filter({ hasText: "Second" });
    await second.getByText("Show again").first().click();
    await second.getByLabel("Reason").fill("A mistake");
    await second.getByRole("button", { name: "Show again" }).click();
    await second.getByText("Hide", { exact: true }).first().waitFor();
    assert.equal(await isHidden(posts[1]), false);
    await check(page, `${size}-console-posts`);

    // So is a comment, after it was hidden.
    const params = { path: { postId: posts[1] } };
    await witness.client.post("/api/posts/{postId}/comments", { params, body: { content: "Rather rude" } });
    await second.getByText("Comments", { exact: true }).click();
    const comment = page.getByRole("article", { name: `Comment by witness-${size}` });
    const comments = async () => (await author.client.get("/api/posts/{postId}/comments", { params })).data.length;
    for (const [action, left] of [
      ["Hide", 0],
      ["Show again", 1],
    ]) {
      await comment.getByText(action, { exact: true }).first().click();
      await comment.getByLabel("Reason").fill("To see how it works");
      await comment.getByRole("button", { name: action }).click();
      await comment.getByText(action === "Hide" ? "Show again" : "Hide", { exact: true }).first().waitFor();
      assert.equal(await comments(), left);
    }
    await check(page, `${size}-console-comments`);

    // An account becomes an administrator, and another is disabled.
    await to("Accounts");
    const account = (name) => page.getByRole("article", { name: `Account ${name}-${size}` });
    await page.getByLabel(/Name/).fill(size);
    await page.getByRole("button", { name: "Show", exact: true }).press("Enter");
    await account("witness").waitFor();
    assert.equal(await page.evaluate(() => document.activeElement?.textContent), "Show");

    // All sessions of an account are ended.
    await account("witness").getByRole("link", { name: `witness-${size}` }).click();
    await heading(page, `witness-${size}`);
    await page.getByRole("button", { name: "End all sessions" }).waitFor();
    await check(page, `${size}-console-sessions`);
    await page.getByRole("button", { name: "End all sessions" }).click();
    await page.getByText("Nobody is logged in.").waitFor();
    await assert.rejects(witness.client.get("/api/users/me"), { code: "unauthenticated" });
    await page.goBack();
    await heading(page, "Accounts");
    await account("witness").getByText("Roles").click();
    await account("witness").getByRole("button", { name: "Add the role ADMIN" }).click();
    await account("witness").getByText("ADMIN", { exact: true }).waitFor();
    await account("author").getByText("Disable", { exact: true }).click();
    await account("author").getByRole("button", { name: "Disable this account" }).click();
    await account("author").getByText("Disabled", { exact: true }).waitFor();
    await check(page, `${size}-console-accounts`);
    await assert.rejects(author.client.get("/api/users/me"), { code: "unauthenticated" });

    // The audit log shows what was done to it.
    await account("author").getByRole("link", { name: "Audit log" }).click();
    await heading(page, "Audit log");
    await page.getByRole("list", { name: "Entries" }).getByText("disabled an account").waitFor();
    await page.getByRole("combobox", { name: "Action" }).selectOption("post_shown");
    await page.getByLabel("Target").fill(posts[1]);
    await page.getByRole("button", { name: "Show", exact: true }).click();
    await page.getByText("“A mistake”").waitFor();
    await check(page, `${size}-console-audit`);

    // A product is created, changed and deleted.
    await to("Products");
    await page.getByText("New product").click();
    await page.getByLabel("SKU").fill(`MUG-${size}`);
    await page.getByLabel("Name").fill("Mug");
    await page.getByLabel("Category").fill("Kitchen");
    await page.getByLabel("Price").fill("19.9");
    await page.getByLabel("In stock").fill("3");
    await check(page, `${size}-console-products`);
    await page.getByRole("button", { name: "Create product" }).click();
    await heading(page, "Mug");
    await page.getByLabel("In stock").fill("5");
    await page.getByRole("button", { name: "Save product" }).click();
    await page.getByText("Saved.").waitFor();
    const inCatalog = async () => {
      const { products } = await createClient({ service }).get("/api/products/findAll");
      return products.filter(({ sku }) => sku === `MUG-${size}`).map(({ stock }) => stock);
    };
    assert.deepEqual(await inCatalog(), [5]);
    await page.getByText("Delete", { exact: true }).click();
    await page.getByRole("button", { name: "Delete this product for good" }).click();
    await heading(page, "Products");
    assert.deepEqual(await inCatalog(), []);

    // Products are imported from files, and exported.
    const choose = async (name, text) => {
      await page.getByLabel("File").setInputFiles({ name, mimeType: "application/json", buffer: Buffer.from(text) });
      await page.getByRole("button", { name: "Import" }).click();
    };
    const row = (sku, more) => ({ sku: `${sku}-${size}`, ...more });
    const [cup, jug] = ["CUP", "JUG"].map((sku) => row(sku, { name: sku, price: 19.9, category: "Kitchen", stock: 3 }));
    await page.getByText("Import", { exact: true }).first().click();
    await choose("bad.jsonl", `${JSON.stringify(cup)}\n{"sku": "${cup.sku}"}\nno JSON\n{"name": "None"}\n{"sku": "Maß"}\n{"sku": "MASS"}\n`);
    for (const words of [
      `Row 2 (${cup.sku}): Row 1 has this SKU already.`,
      "Row 3: SyntaxError",
      "Row 4: It has no SKU.",
      "Row 6 (MASS): Row 5 has this SKU already.",
    ]) {
      await page.getByText(words).waitFor();
    }
    assert.deepEqual(await inCatalog(), []);
    await choose("products.json", JSON.stringify([cup, jug, row("LID", { name: "Lid", price: -1, category: "Kitchen", stock: 1 })]));
    await page.getByText(/^Done: 2 products created, 0 updated, 0 unchanged, 1 row refused\.$/).waitFor();
    await page.getByText(`Row 3 (LID-${size}): `).waitFor();
    await check(page, `${size}-console-import`);
    await choose("products.jsonl", `${JSON.stringify({ sku: cup.sku.toLowerCase(), stock: 7 })}\n${JSON.stringify(jug)}\n`);
    await page.getByText(/^Done: 0 products created, 1 updated, 1 unchanged, 0 rows refused\.$/).waitFor();
    await page.getByText("Export", { exact: true }).click();
    await page.getByRole("button", { name: "Collect all products" }).click();
    const lines = (await download(page, "Save the products")).toString().trim().split("\n").map((line) => JSON.parse(line));
    assert.deepEqual(
      lines.filter(({ sku }) => sku.toUpperCase().startsWith("CUP")).map(({ stock, price, id }) => [stock, price, id]).pop(),
      [7, 19.9, undefined],
    );

    // The mail queue is empty.
    await to("Mail");
    await page.getByText("There are none.").waitFor();
    await page.getByRole("link", { name: "Given up" }).click();
    await page.getByText("There are none.").waitFor();
    await check(page, `${size}-console-mail`);

    await to("Configuration");
    await page.getByText("AGORA_ADMIN_PASSWORD", { exact: true }).waitFor();
    assert(!(await page.getByText(PASSWORD).count()), "no secret is shown");
    await check(page, `${size}-console-configuration`);

    await to("Backup");
    await page.getByRole("button", { name: "Make a backup" }).click();
    assert((await download(page, "Save the backup")).subarray(0, 17).equals(Buffer.from("agora-backup.json")));
    await check(page, `${size}-console-backup`);
  });
}

test("a reported comment is shown with its post, hidden, and shown again", async (context) => {
  const author = await join("quarrelsome");
  const witness = await join("offended");
  const { id: postId } = (await author.client.post("/api/posts/create", { body: { text: "About cats" } })).data;
  const params = { path: { postId } };
  const comment = await author.client.post("/api/posts/{postId}/comments", { params, body: { content: "Dogs are worse" } });
  await witness.client.post("/api/reports", { body: { targetType: "COMMENT", targetId: comment.data.id, category: "ABUSE" } });
  const page = await open(context, "console", 1280);
  await page.getByLabel("Username or email address").fill("root");
  await page.getByLabel("Password").fill(PASSWORD);
  await page.getByRole("button", { name: "Log in" }).click();
  await page.getByRole("navigation", { name: "Main" }).getByRole("link", { name: "Reports" }).click();
  const report = page.getByRole("article", { name: "Report by offended" });
  await report.getByText("Dogs are worse").waitFor();
  await report.getByText("The post that it is on").click();
  await report.getByText("About cats").waitFor();
  await check(page, "console-reported-comment");
  await report.getByRole("button", { name: "Hide it and resolve" }).click();
  await report.waitFor({ state: "detached" });
  await page.getByRole("link", { name: "Resolved" }).click();
  await report.getByText("Show again").first().click();
  await report.getByLabel("Reason").fill("It is true");
  await report.getByRole("button", { name: "Show again" }).click();
  await report.getByText("Show again").first().waitFor({ state: "detached" });
  assert.equal((await witness.client.get("/api/posts/{postId}/comments", { params })).data.length, 1);
});
