// The configuration of the service, and the download of a backup.

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
      <p class="faint">
        The configuration of the node that responded. Passwords and secrets are not shown. To change a setting, change it at its
        source, and restart the service.
      </p>
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
        {value === null ? <span class="faint">{isSecret ? "set, but not shown" : "not set"}</span> : <bdi>{value}</bdi>}
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
        A backup is a file with the whole database and all images, like that of <code>agora backup</code>. Restore it with{" "}
        <code>agora restore</code>.
      </p>
      <ul>
        <li>It contains all password hashes, email addresses and private posts: keep it as safe as the service.</li>
        <li>
          It does not contain the secret that signs tokens. Keep a copy elsewhere: after a restore without it, all users must log in again.
        </li>
        <li>The audit log records the download. Only one backup is made at a time.</li>
        <li>The browser keeps the file in memory until it is saved. For a large service, use the command.</li>
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
