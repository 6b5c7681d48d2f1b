// The dashboard: totals, requests and health.

import type { components } from "@agora/client";
import type { ComponentChildren } from "preact";
import { useEffect } from "preact/hooks";
import { More, Show, Time, Title } from "../../shared/basics";
import { useLoaded } from "../../shared/load";
import { agora } from "../../shared/session";
import { count, exactly } from "../../shared/words";
import { Health } from "./health";

type Overview = components["schemas"]["Overview"];
type Minute = components["schemas"]["RequestMinute"];

export function Dashboard() {
  const overview = useLoaded(async () => (await agora.get("/api/admin/overview")).data, []);
  useEffect(() => {
    const timer = setInterval(overview.reload, 60_000);
    return () => clearInterval(timer);
  });
  return (
    <>
      <Title>Dashboard</Title>
      <Show of={overview}>
        {(data) => (
          <>
            <Totals of={data} />
            <Requests minutes={data.minutes} />
          </>
        )}
      </Show>
      <Health />
    </>
  );
}

function Totals({ of: data }: { of: Overview }) {
  return (
    <>
      <dl class="figures">
        <Figure name="Open reports" to="#/reports">
          {number(data.openReports)}
        </Figure>
        <Figure name="Accounts" to="#/accounts">
          {number(data.accounts)}
        </Figure>
        <Figure name="Open sessions">{number(data.openSessions)}</Figure>
        <Figure name="Posts" to="#/posts">
          {number(data.posts)}
        </Figure>
        <Figure name="Comments">{number(data.comments)}</Figure>
        <Figure name="Products" to="#/products">
          {number(data.products)}
        </Figure>
        <Figure name="Waiting mails" to="#/mails">
          {number(data.waitingMails)}
        </Figure>
        <Figure name="Mails given up" to="#/mails?status=dead">
          {number(data.deadMails)}
        </Figure>
        {data.databaseBytes !== null && <Figure name="Database">{size(data.databaseBytes)}</Figure>}
      </dl>
      <p class="faint">
        Counted <Time of={data.countedAt} />. Agora {data.version}, running for {duration(data.uptimeSeconds)}.
      </p>
    </>
  );
}

function Figure({ name, to, children }: { name: string; to?: string; children: ComponentChildren }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{to ? <a href={to}>{children}</a> : children}</dd>
    </div>
  );
}

const WIDTH = 600;
const HEIGHT = 120;

/** The requests of the last hour: as a sentence, as bars, and as a table. */
function Requests({ minutes }: { minutes: Minute[] }) {
  const sum = (of: "requests" | "clientErrors" | "serverErrors") => minutes.reduce((sum, minute) => sum + minute[of], 0);
  const [requests, refused, failed] = [sum("requests"), sum("clientErrors"), sum("serverErrors")];
  const most = Math.max(1, ...minutes.map((minute) => minute.requests));
  const summary = `${count(requests, "request")} in the last hour. ${number(refused)} were refused (4xx), and ${number(failed)} failed (5xx).`;
  return (
    <>
      <h2>Requests to this node</h2>
      <p>{summary}</p>
      <svg class="chart" viewBox={`0 0 ${WIDTH} ${HEIGHT}`} role="img" aria-label={`Requests per minute. ${summary}`}>
        {minutes.map((minute, place) => (
          <Bar key={minute.at} minute={minute} place={place} width={WIDTH / minutes.length} scale={HEIGHT / most} />
        ))}
      </svg>
      <p class="faint">
        <span class="key served" /> served, <span class="key refused" /> refused, <span class="key failed" /> failed; at most {number(most)} per minute
      </p>
      <More label="As a table" isLazy>
        <table>
          <thead>
            <tr>
              <th scope="col">Minute</th>
              <th scope="col">Requests</th>
              <th scope="col">4xx</th>
              <th scope="col">5xx</th>
            </tr>
          </thead>
          <tbody>
            {minutes.map((minute) => (
              <tr key={minute.at}>
                <th scope="row">{exactly(minute.at)}</th>
                <td>{number(minute.requests)}</td>
                <td>{number(minute.clientErrors)}</td>
                <td>{number(minute.serverErrors)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </More>
    </>
  );
}

function Bar({ minute, place, width, scale }: { minute: Minute; place: number; width: number; scale: number }) {
  const { requests, clientErrors, serverErrors } = minute;
  const parts = [
    ["served", requests],
    ["refused", clientErrors + serverErrors],
    ["failed", serverErrors],
  ] as const;
  return (
    <>
      {parts.map(([kind, number]) => (
        <rect key={kind} class={kind} x={place * width + 1} width={width - 2} y={HEIGHT - number * scale} height={number * scale} />
      ))}
    </>
  );
}

function number(of: number): string {
  return of.toLocaleString("en");
}

/** Formats a number of bytes, in the largest unit of which there is at least one. */
function size(bytes: number): string {
  const units = ["bytes", "KiB", "MiB", "GiB", "TiB"];
  const unit = Math.min(Math.floor(Math.log2(Math.max(bytes, 1)) / 10), units.length - 1);
  return `${(bytes / 1024 ** unit).toLocaleString("en", { maximumFractionDigits: 1 })} ${units[unit]}`;
}

function duration(seconds: number): string {
  if (seconds < 3_600) return count(Math.floor(seconds / 60), "minute");
  if (seconds < 172_800) return count(Math.floor(seconds / 3_600), "hour");
  return count(Math.floor(seconds / 86_400), "day");
}
