// The audit log.

import type { components } from "@agora/client";
import { Choice, Input, List, Time, Title, UserLink } from "../../shared/basics";
import { useList } from "../../shared/load";
import { QueryForm } from "../../shared/query";
import { at } from "../../shared/router";
import { agora } from "../../shared/session";

type Entry = components["schemas"]["AuditEntry"];
type ActionName = Entry["action"];

const ACTIONS: Record<ActionName, string> = {
  role_added: "added a role",
  role_removed: "removed a role",
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
const CHOICES = [["", "All actions"], ...Object.entries(ACTIONS)] as [string, string][];

export function Audit({ query }: { query: URLSearchParams }) {
  const [actor = "", target = "", action = ""] = ["actor", "target", "action"].map((name) => query.get(name) ?? "");
  return (
    <>
      <Title>Audit log</Title>
      <QueryForm label="Find entries" place="audit" asked={{ actor, target, action }}>
        <Choice label="Action" name="action" value={action} of={CHOICES} />
        <Input label="Actor: an id, or cli" name="actor" value={actor} />
        <Input label="Target: an id" name="target" value={target} />
      </QueryForm>
      <Entries key={`${query} list`} query={query} />
    </>
  );
}

function Entries({ query }: { query: URLSearchParams }) {
  // The query comes from the form or from a link. The service validates it.
  const entries = useList(
    () => agora.list("/api/admin/audit", { params: { query: Object.fromEntries(query) as { action?: ActionName } } }),
    [],
  );
  return (
    <List of={entries} label="Entries" empty="There are no such entries.">
      {(entry) => (
        <div class="person">
          <Actor entry={entry} />
          <span>{ACTIONS[entry.action]}</span>
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
