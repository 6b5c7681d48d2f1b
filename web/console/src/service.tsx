// The service itself: its configuration, and a backup of all that it has.

import type { components } from "@agora/client";
import { Download, Show, Title } from "../../shared/basics";
import { useLoaded } from "../../shared/load";
import { agora } from "../../shared/session";

type Setting = components["schemas"]["Setting"];

export function Configuration() {
  const settings = useLoaded(async () => (await agora.get("/api/admin/configuration")).data, []);
  return (
    <>
      <Title>Configuration</Title>
      <p class="faint">That of the node that answered. Passwords and secrets are not shown. To change a setting, change it where it comes from, and restart.</p>
      <Show of={settings}>
        {(data) => (
          <>
            {[...new Set(data.map(({ group }) => group))].map((group) => (
              <section key={group} aria-label={group}>
                <h2>{group}</h2>
                <dl>
                  {data
                    .filter((setting) => setting.group === group)
                    .map((setting) => (
                      <Row key={setting.key} setting={setting} />
                    ))}
                </dl>
              </section>
            ))}
          </>
        )}
      </Show>
    </>
  );
}

function Row({ setting: { variable, value, isSecret, isSet, source } }: { setting: Setting }) {
  return (
    <div>
      <dt>
        <code>{variable}</code>
      </dt>
      <dd>
        {value === null ? <span class="faint">{isSecret ? "set, and not shown" : "not set"}</span> : <bdi>{value}</bdi>}
        {value !== null && isSecret && <span class="faint"> (without its password)</span>}{" "}
        <span class="faint">{isSet ? `from ${source}` : value !== null && "by default"}</span>
      </dd>
    </div>
  );
}

export function Backup() {
  return (
    <>
      <Title>Backup</Title>
      <p>
        A backup is one file with all rows and all images, as <code>agora backup</code> makes it; <code>agora restore</code> reads it.
      </p>
      <ul>
        <li>It holds every password hash, address and private post: keep it as safe as the service.</li>
        <li>The secret that tokens are signed with is not in it. Keep a copy of it elsewhere: after a restore without it, everybody logs in again.</li>
        <li>The download is on record in the audit log. One is made at a time.</li>
        <li>The browser holds the file in memory until it is saved. For a large service, use the command.</li>
      </ul>
      <Download
        label="Make a backup"
        save="Save the backup"
        name="agora-backup.tar"
        make={async () => (await agora.http.POST("/api/admin/backup", { parseAs: "blob" })).data}
      />
    </>
  );
}
