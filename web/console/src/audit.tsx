// What administrators did.

import type { components } from "@agora/client";
import { Choice, Input, List, Time, Title, UserLink } from "../../shared/basics";
import { useList } from "../../shared/load";
import { QueryForm } from "../../shared/query";
import { at } from "../../shared/router";
import { agora } from "../../shared/session";

type Entry = components["schemas"]["AuditEntry"];
type Act = Entry["action"];

const ACTS: Record<Act, string> = {
  role_added: "gave a role",
  role_removed: "took a role away",
  account_disabled: "disabled an account",
  account_enabled: "enabled an account",
  password_reset: "set a new password",
  sessions_ended: "ended all sessions",
  post_hidden: "hid a post",
  post_shown: "showed a post again",
  comment_hidden: "hid a comment",
  comment_shown: "showed a comment again",
  report_resolved: "resolved a report",
  report_rejected: "rejected a report",
  product_created: "created a product",
  product_updated: "changed a product",
  product_deleted: "deleted a product",
  products_imported: "imported products",
  backup_downloaded: "downloaded a backup",
};
const CHOICES = [["", "Anything"], ...Object.entries(ACTS)] as [string, string][];

export function Audit({ query }: { query: URLSearchParams }) {
  const [actor = "", target = "", action = ""] = ["actor", "target", "action"].map((name) => query.get(name) ?? "");
  return (
    <>
      <Title>Audit log</Title>
      <QueryForm label="Find acts" place="audit" asked={{ actor, target, action }}>
        <Choice label="Act" name="action" value={action} of={CHOICES} />
        <Input label="By whom: an id, or cli" name="actor" value={actor} />
        <Input label="To what: an id" name="target" value={target} />
      </QueryForm>
      <Entries key={`${query} list`} query={query} />
    </>
  );
}

function Entries({ query }: { query: URLSearchParams }) {
  // What is asked for is what the form, or a link, says: the service checks it.
  const entries = useList(
    () => agora.list("/api/admin/audit", { params: { query: Object.fromEntries(query) as { action?: Act } } }),
    [],
  );
  return (
    <List of={entries} label="Acts" empty="Nothing was done.">
      {(entry) => (
        <div class="person">
          <Actor entry={entry} />
          <span>{ACTS[entry.action]}</span>
          <Target entry={entry} />
          {entry.details && <span class="faint">“{entry.details}”</span>}
          <Time of={entry.at} />
        </div>
      )}
    </List>
  );
}

function Actor({ entry: { actor, actorId } }: { entry: Entry }) {
  if (actor) return <UserLink user={actor} />;
  return actorId === null ? <span>The command line</span> : <code class="faint">{actorId}</code>;
}

function Target({ entry: { targetId: id, targetType: type } }: { entry: Entry }) {
  if (id === null) return null;
  if (type === "USER") return <a href={at("accounts", id)}>(the account)</a>;
  if (type === "PRODUCT") return <a href={at("products", id)}>(the product)</a>;
  return <code class="faint">{id}</code>;
}
