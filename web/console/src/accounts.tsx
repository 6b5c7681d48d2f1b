// Accounts and their roles.

import { Action, Input, List, More, Show, Time, Title } from "../../shared/basics";
import { replaced, useList, useLoaded } from "../../shared/load";
import { QueryForm } from "../../shared/query";
import { at } from "../../shared/router";
import { agora, isAdmin, me, readMe, type User } from "../../shared/session";
import { nameOf } from "../../shared/words";
import { Sessions } from "./sessions";

export function Accounts({ query }: { query: URLSearchParams }) {
  const q = query.get("q") ?? "";
  return (
    <>
      <Title>Accounts</Title>
      <QueryForm label="Find accounts" place="accounts" asked={{ q }}>
        <Input label="Name, or words of it" name="q" type="search" value={q} maxLength={200} />
      </QueryForm>
      <Found key={q} q={q} />
    </>
  );
}

function Found({ q }: { q: string }) {
  const users = useList<User>(() => (q ? search(q) : agora.list("/api/users/all", { params: { query: { size: 20 } } })), []);
  return (
    <List of={users} label="Accounts" empty="There are no such accounts.">
      {(user) => <Account user={user} onChange={(changed) => users.change((items) => replaced(items, user, () => changed))} />}
    </List>
  );
}

/** Searches users. The results are profiles, so each account is read by its id. */
async function* search(q: string): AsyncGenerator<User, void, void> {
  for await (const { id } of agora.list("/api/search", { params: { query: { type: "users", q } } })) yield read(id);
}

async function read(id: string): Promise<User> {
  return (await agora.get("/api/users/by-id/{id}", { params: { path: { id } } })).data;
}

export function AccountPage({ id }: { id: string }) {
  const user = useLoaded(() => read(id), [id]);
  return (
    <Show of={user} title="Account">
      {(data) => (
        <>
          <Title>{nameOf(data)}</Title>
          <Account user={data} onChange={(changed) => user.change(() => changed)} />
          <Sessions key={String(data.enabled)} userId={data.id} />
        </>
      )}
    </Show>
  );
}

function Account({ user, onChange }: { user: User; onChange: (user: User) => void }) {
  const has = (role: "ADMIN" | "USER") => user.authorities.some(({ authority }) => authority === role);
  async function change(role: "ADMIN" | "USER") {
    const body = { roleId: role, action: has(role) ? ("REMOVE" as const) : ("ADD" as const) };
    await agora.put("/api/users/update/{userId}", { params: { path: { userId: user.id } }, body });
    if (isMe) await readMe();
    // Without the role ADMIN, this page is not for the user any more.
    if (isAdmin(me.value)) onChange(await read(user.id));
  }
  async function setEnabled(enabled: boolean) {
    await agora.put("/api/users/{userId}/enabled", { params: { path: { userId: user.id } }, body: { enabled } });
    onChange(await read(user.id));
  }
  const isMe = user.id === me.value?.id;
  return (
    <article aria-label={`Account ${user.username}`}>
      <header>
        <a class="user" href={at("accounts", user.id)}>
          <bdi>{nameOf(user)}</bdi> <span class="faint">@<bdi>{user.username}</bdi></span>
        </a>
        {has("ADMIN") && <span class="tag">ADMIN</span>}
        {!has("USER") && <span class="tag">Without the role USER</span>}
        {!user.enabled && <span class="tag">Disabled</span>}
        <span class="faint">
          <bdi>{user.email}</bdi>, registered <Time of={user.createdAt} />
        </span>
      </header>
      <footer>
        {!isMe && user.enabled && (
          <More label="Disable">
            <Action kind="danger" does={() => setEnabled(false)}>
              Disable this account and end its sessions
            </Action>
          </More>
        )}
        {!isMe && !user.enabled && <Action does={() => setEnabled(true)}>Enable</Action>}
        <More label="Roles">
          <Action does={() => change("ADMIN")}>{has("ADMIN") ? "Remove the role ADMIN" : "Add the role ADMIN"}</Action>
          <Action does={() => change("USER")}>{has("USER") ? "Remove the role USER" : "Add the role USER"}</Action>
        </More>
        <a class="button" href={`#/audit?target=${user.id}`}>
          Audit log
        </a>
      </footer>
    </article>
  );
}
