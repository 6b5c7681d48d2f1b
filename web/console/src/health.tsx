// The readiness checks of the service.

import { AgoraError } from "@agora/client";
import { Show } from "../../shared/basics";
import { useLoaded } from "../../shared/load";
import { agora } from "../../shared/session";

interface Check {
  status: string;
  milliseconds: number;
}

export function Health() {
  const health = useLoaded(readChecks, []);
  return (
    <>
      <h2>Health</h2>
      <Show of={health}>
        {(checks) => (
          <dl>
            {Object.entries(checks).map(([name, { status, milliseconds }]) => (
              <div key={name}>
                <dt>{name}</dt>
                <dd>
                  {status === "ok" ? "ok" : "failed"}, in {milliseconds.toFixed(0)} ms
                </dd>
              </div>
            ))}
          </dl>
        )}
      </Show>
      <button onClick={health.reload}>Check again</button>
    </>
  );
}

/** Reads the results of the checks. They are in the body of a 503 as well, if some of them fail. */
async function readChecks(): Promise<Record<string, Check>> {
  try {
    return { ...(await agora.get("/health/ready")).data };
  } catch (error) {
    const checks = error instanceof AgoraError && error.failure?.data;
    if (!checks) throw error;
    return checks as unknown as Record<string, Check>;
  }
}
