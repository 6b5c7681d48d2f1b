// The settings of the user's account.

import type { components } from "@agora/client";
import { ignoreNotFound, useList, useLoaded, without } from "../../../shared/load";
import { Action, Check, Choice, Download, file, Form, Input, List, More, Show, text, Time, Title } from "../../../shared/basics";
import { at } from "../../../shared/router";
import { agora, end, logOut, me, readMe, type User } from "../../../shared/session";
import { theme, themeNamed, THEMES } from "../../../shared/theme";
import { BlockedOrMuted } from "./people";

export function Settings() {
  const user = me.value;
  if (user === undefined) return null;
  return (
    <>
      <Title>Settings</Title>
      <p>
        <a href={at("user", user.id)}>Your profile, as others see it</a>
      </p>
      <section aria-label="Appearance">
        <h2>Appearance</h2>
        <label>
          Colors
          <select
            value={theme.value}
            onChange={(event) => {
              theme.value = themeNamed(event.currentTarget.value);
            }}
          >
            {THEMES.map(([value, words]) => (
              <option key={value} value={value} selected={value === theme.value}>
                {words}
              </option>
            ))}
          </select>
        </label>
      </section>
      <ProfileForm user={user} />
      <NotificationForm />
      <Sessions />
      <section aria-label="Blocked and muted">
        <h2>Blocked and muted</h2>
        <More label="Blocked">
          <BlockedOrMuted of="blocks" />
        </More>
        <More label="Muted">
          <BlockedOrMuted of="mutes" />
        </More>
      </section>
      <Account user={user} />
    </>
  );
}

function ProfileForm({ user }: { user: User }) {
  return (
    <section aria-label="Profile">
      <h2>Profile</h2>
      <Form
        label="Profile"
        submit="Save profile"
        done="Saved."
        does={async (fields) => {
          const picture = file(fields, "profilePicture");
          const values = {
            displayName: text(fields, "displayName"),
            biography: text(fields, "biography"),
            discoverable: fields.has("discoverable"),
            searchable: fields.has("searchable"),
            hideCounts: fields.has("hideCounts"),
          };
          // Send only the changed fields: others may have been changed elsewhere.
          const changed = Object.entries(values).filter(([name, value]) => value !== (user[name as keyof typeof values] ?? ""));
          const body = Object.fromEntries(changed) as Partial<typeof values>;
          const removed = fields.has("removeProfilePicture") && { removeProfilePicture: true };
          await agora.put("/api/users/me", { body: { ...body, ...removed, ...(picture && { profilePicture: picture }) } });
          await readMe();
        }}
      >
        <Input label="Display name" name="displayName" value={user.displayName ?? ""} maxLength={50} />
        <label>
          About you
          <textarea name="biography" rows={3} defaultValue={user.biography ?? ""} />
        </label>
        {/* The key empties the field after the picture was saved, so that it is not sent again. */}
        <Input
          key={user.profilePicture}
          label="Picture"
          name="profilePicture"
          type="file"
          accept="image/png,image/jpeg,image/gif,image/webp"
        />
        {user.profilePicture && <Check key={user.profilePicture} label="Remove my picture" name="removeProfilePicture" checked={false} />}
        <Check label="List me in the directory and in search results" name="discoverable" checked={user.discoverable} />
        <Check label="Include my posts in search results" name="searchable" checked={user.searchable} />
        <Check label="Hide my follower and following counts" name="hideCounts" checked={user.hideCounts} />
      </Form>
    </section>
  );
}

type NotificationSettings = components["schemas"]["NotificationSettings"];

const KINDS: Record<keyof NotificationSettings, string> = {
  like: "Likes of your posts",
  comment: "Comments on your posts",
  reply: "Replies to you",
  mention: "Mentions of you",
  follow: "New followers",
  commentLike: "Likes of your comments",
  report: "Reports, for administrators",
};
const BY = [
  ["everyone", "by everybody"],
  ["following", "by those whom you follow"],
  ["none", "by nobody"],
] as const;

function NotificationForm() {
  const settings = useLoaded(async () => (await agora.get("/api/notifications/settings")).data, []);
  const kinds = Object.entries(KINDS) as [keyof NotificationSettings, string][];
  return (
    <section aria-label="Notifications">
      <h2>Notifications</h2>
      <Show of={settings}>
        {(data) => (
          <Form
            label="Notifications"
            submit="Save notifications"
            done="Saved."
            does={(fields) => {
              const chosen = kinds.map(([kind]) => [kind, BY.map(([by]) => by).find((by) => by === text(fields, kind))]);
              return agora.put("/api/notifications/settings", { body: Object.fromEntries(chosen) });
            }}
          >
            {kinds.map(([kind, words]) => (
              <Choice key={kind} label={words} name={kind} value={data[kind]} of={BY} />
            ))}
          </Form>
        )}
      </Show>
    </section>
  );
}

function Sessions() {
  const sessions = useList(() => agora.list("/api/users/me/sessions"), []);
  return (
    <section aria-label="Sessions">
      <h2>Sessions</h2>
      <List of={sessions} label="Sessions" empty="There are none.">
        {(session) => (
          <div class="person">
            <span class="user">
              {session.userAgent ?? "Unknown program"} {session.current && <span class="tag">This one</span>}
            </span>
            <span class="faint">
              last seen <Time of={session.lastSeenAt} />
            </span>
            {!session.current && (
              <Action
                label={`End the session of ${session.userAgent ?? "an unknown program"}`}
                does={async () => {
                  const path = { sessionId: session.id };
                  await ignoreNotFound(agora.delete("/api/users/me/sessions/{sessionId}", { params: { path } }));
                  sessions.change((items) => without(items, session));
                }}
              >
                End
              </Action>
            )}
          </div>
        )}
      </List>
      <Action
        does={async () => {
          await agora.delete("/api/users/me/sessions");
          sessions.reload();
        }}
      >
        End all others
      </Action>
      <Action does={logOut}>Log out here</Action>
    </section>
  );
}

function Account({ user }: { user: User }) {
  return (
    <section aria-label="Account">
      <h2>Account</h2>
      <More label="Change your password">
        <Form
          label="Change your password"
          submit="Change password"
          done="Changed. All other sessions have ended."
          clears
          does={(fields) => {
            const [currentPassword, newPassword] = [text(fields, "currentPassword"), text(fields, "newPassword")];
            return agora.put("/api/users/me/password", { body: { currentPassword, newPassword } });
          }}
        >
          <Input label="Current password" name="currentPassword" type="password" autoComplete="current-password" required />
          <Input label="New password" name="newPassword" type="password" autoComplete="new-password" required />
        </Form>
      </More>
      <More label="Change your email address">
        <p>
          It is <bdi>{user.email}</bdi>
          {user.emailVerified && " (verified)"}.
        </p>
        <Form
          label="Change your email address"
          submit="Change address"
          done="Changed, or to be verified with the code that was sent to the new address."
          clears
          does={async (fields) => {
            const [email, currentPassword] = [text(fields, "email"), text(fields, "currentPassword")];
            await agora.put("/api/users/me/email", { body: { email, currentPassword } });
            await readMe();
          }}
        >
          <Input label="New address" name="email" type="email" autoComplete="email" required />
          <Input label="Password" name="currentPassword" type="password" autoComplete="current-password" required />
        </Form>
        <Form
          label="Verify your email address"
          submit="Verify"
          done="Verified."
          does={async (fields) => {
            await agora.post("/api/auth/email/verify", { body: { token: text(fields, "token").trim() } });
            await readMe();
          }}
        >
          <Input label="The code from the mail" name="token" autoComplete="one-time-code" required />
        </Form>
        {!user.emailVerified && (
          <Action does={() => agora.post("/api/users/me/email/verification")} done="A code was sent.">
            Send a code to this address
          </Action>
        )}
      </More>
      <More label="Export">
        <Download
          label="Create an archive of my data"
          save="Save the archive"
          name="agora-export.zip"
          make={async () => (await agora.http.GET("/api/users/me/export", { parseAs: "blob" })).data}
        />
      </More>
      <More label="Delete your account">
        <p>This also deletes everything that you wrote. It cannot be undone.</p>
        <Form
          label="Delete your account"
          submit="Delete my account"
          does={async (fields) => {
            await agora.post("/api/users/me/delete", { body: { currentPassword: text(fields, "currentPassword") } });
            end("Your account is deleted.");
          }}
        >
          <Input label="Password" name="currentPassword" type="password" autoComplete="current-password" required />
        </Form>
      </More>
    </section>
  );
}
