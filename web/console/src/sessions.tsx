// The sessions of an account.

import { Action, List, Time } from "../../shared/basics";
import { useList } from "../../shared/load";
import { agora } from "../../shared/session";

export function Sessions({ userId }: { userId: string }) {
  const path = { userId };
  const sessions = useList(() => agora.list("/api/admin/users/{userId}/sessions", { params: { path } }), [userId]);
  return (
    <section aria-label="Sessions">
      <h2>Sessions</h2>
      <List of={sessions} label="Sessions" empty="Nobody is logged in.">
        {(session) => (
          <div class="person">
            <span>{session.userAgent ?? "Unknown program"}</span>
            <span class="faint">
              since <Time of={session.openedAt} />, last used <Time of={session.lastSeenAt} />
            </span>
          </div>
        )}
      </List>
      {sessions.items.length > 0 && (
        <Action
          kind="danger"
          does={async () => {
            await agora.delete("/api/admin/users/{userId}/sessions", { params: { path } });
            sessions.reload();
          }}
        >
          End all sessions
        </Action>
      )}
    </section>
  );
}
