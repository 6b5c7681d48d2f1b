// The mail queue: mails that wait to be sent, have failed for good, or were sent.

import type { components } from "@agora/client";
import { Action, List, Time, Title } from "../../shared/basics";
import { useList } from "../../shared/load";
import { count } from "../../shared/words";
import { agora } from "../../shared/session";

type Mail = components["schemas"]["Mail"];

const STATUSES = [
  ["waiting", "Waiting"],
  ["dead", "Given up"],
  ["sent", "Sent"],
] as const;
type Status = (typeof STATUSES)[number][0];

const KINDS: Record<Mail["kind"], string> = {
  password_reset: "Password reset",
  email_verification: "Verification of an address",
  email_change: "Change of the address",
  email_changed: "Notice to the previous address",
};

export function Mails({ query }: { query: URLSearchParams }) {
  const status = STATUSES.map(([status]) => status).find((status) => status === query.get("status")) ?? "waiting";
  return (
    <>
      <Title>Mail</Title>
      <nav class="tabs" aria-label="By status">
        {STATUSES.map(([value, words]) => (
          <a key={value} href={`#/mails?status=${value}`} aria-current={status === value ? "page" : undefined}>
            {words}
          </a>
        ))}
      </nav>
      <Queue key={status} status={status} />
    </>
  );
}

async function* read(status: Status): AsyncGenerator<Mail, void, void> {
  yield* (await agora.get("/api/admin/mails", { params: { query: { status } } })).data;
}

function Queue({ status }: { status: Status }) {
  const mails = useList(() => read(status), [status]);
  return (
    <>
      <p class="faint">Shows the first 100 at most. {status === "sent" && "Sent mails are kept for a day."}</p>
      <List of={mails} label="Mails" empty="There are none.">
        {(mail) => (
          <div class="person">
            <span>{KINDS[mail.kind]}</span>
            <bdi>{mail.address}</bdi>
            <span class="faint">
              requested <Time of={mail.createdAt} />
            </span>
            {status !== "sent" && <span class="faint">tried {count(mail.attempts, "time")}</span>}
            {mail.failure && <p class="faint">“{mail.failure}”</p>}
            {status !== "sent" && (
              <Action
                does={async () => {
                  await agora.post("/api/admin/mails/{mailId}/retry", { params: { path: { mailId: mail.id } } });
                  mails.reload();
                }}
              >
                Try again now
              </Action>
            )}
          </div>
        )}
      </List>
    </>
  );
}
