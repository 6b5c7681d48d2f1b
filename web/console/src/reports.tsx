// The queue of reports, which can be decided with the keyboard.

import type { components } from "@agora/client";
import type { ComponentChildren } from "preact";
import { useEffect, useState } from "preact/hooks";
import { Action, Failure, Form, Input, List, More, Show, text, Time, Title, UserLink } from "../../shared/basics";
import { type LoadedList, useList, useLoaded, without } from "../../shared/load";
import { at } from "../../shared/router";
import { Pictures } from "../../shared/pictures";
import { agora } from "../../shared/session";
import { Text } from "../../shared/text";
import { errorMessage } from "../../shared/words";
import { HideForm, setHidden } from "./hide";

type Report = components["schemas"]["Report"];

const STATUSES = [
  ["OPEN", "Open"],
  ["RESOLVED", "Resolved"],
  ["REJECTED", "Rejected"],
] as const;

const CATEGORIES: Record<Report["category"], string> = {
  SPAM: "Spam",
  ABUSE: "Abuse",
  ILLEGAL: "Illegal",
  OTHER: "Something else",
};

export function Reports({ query }: { query: URLSearchParams }) {
  const status = STATUSES.map(([status]) => status).find((status) => status === query.get("status")) ?? "OPEN";
  return (
    <>
      <Title>Reports</Title>
      <nav class="tabs" aria-label="By status">
        {STATUSES.map(([value, words]) => (
          <a key={value} href={`#/reports?status=${value}`} aria-current={status === value ? "page" : undefined}>
            {words}
          </a>
        ))}
      </nav>
      <Queue key={status} status={status} />
    </>
  );
}

function Queue({ status }: { status: Report["status"] }) {
  const reports = useList(() => agora.list("/api/admin/reports", { params: { query: { status } } }), [status]);
  const remove = (report: Report) => reports.change((items) => without(items, report));
  const error = useKeys(reports, status === "OPEN", remove);
  return (
    <>
      {status === "OPEN" && (
        <p class="faint">
          Keys while a report has the focus: <kbd>j</kbd> and <kbd>k</kbd> move to the next and the previous report, <kbd>h</kbd> hides
          the reported content and resolves the report, <kbd>r</kbd> resolves it, <kbd>x</kbd> rejects it.
        </p>
      )}
      <Failure>{error}</Failure>
      <List of={reports} label="Reports" empty="There are none.">
        {(report) => <Row report={report} onDecided={() => remove(report)} />}
      </List>
    </>
  );
}

async function decide(report: Report, status: "RESOLVED" | "REJECTED", note: string): Promise<void> {
  const path = { reportId: report.id };
  await agora.put("/api/admin/reports/{reportId}", { params: { path }, body: { status, ...(note && { note }) } });
}

/** Hides the reported content, with the category of the report as the reason, and resolves the report. */
async function hide(report: Report): Promise<void> {
  const { targetType: type, targetId: id } = report;
  if (type === "USER") throw new Error("An account cannot be hidden. Open it to disable it.");
  await setHidden({ type, id }, true, CATEGORIES[report.category]);
  await decide(report, "RESOLVED", "Hidden");
}

/** Handles the keys while a report has the focus. Returns the message of an error in the last decision. */
function useKeys(reports: LoadedList<Report>, areOpen: boolean, remove: (report: Report) => void): string {
  const [error, setError] = useState("");
  useEffect(() => {
    const press = (event: KeyboardEvent) => {
      const isText = event.target instanceof Element && event.target.closest("input, textarea, select");
      if (isText || event.ctrlKey || event.metaKey || event.altKey) return;
      const rows = [...document.querySelectorAll<HTMLElement>("[data-report]")];
      const here = rows.findIndex((row) => row.contains(document.activeElement));
      if (here < 0) return;
      const goTo = (place: number) => rows[Math.max(0, Math.min(place, rows.length - 1))]?.focus();
      const report = reports.items.find(({ id }) => id === rows[here]?.dataset["report"]);
      const does = (decision: (report: Report) => Promise<void>) => {
        if (report === undefined) return;
        // A key that is held down must not decide several reports, and decided reports cannot be decided again.
        if (event.repeat || !areOpen) return;
        // The decided report is removed: focus its neighbour.
        goTo(here + 1 < rows.length ? here + 1 : here - 1);
        setError("");
        decision(report).then(
          () => remove(report),
          (failure: unknown) => setError(failure instanceof Error && failure.name === "Error" ? failure.message : errorMessage(failure)),
        );
      };
      switch (event.key) {
        case "j":
          return goTo(here + 1);
        case "k":
          return goTo(here - 1);
        case "h":
          return does(hide);
        case "r":
          return does((report) => decide(report, "RESOLVED", ""));
        case "x":
          return does((report) => decide(report, "REJECTED", ""));
      }
    };
    document.addEventListener("keydown", press);
    return () => document.removeEventListener("keydown", press);
  });
  return error;
}

function Row({ report, onDecided }: { report: Report; onDecided: () => void }) {
  const isOpen = report.status === "OPEN";
  return (
    <article class="card" data-report={report.id} tabIndex={0} aria-label={`Report by ${report.reporter.username}`}>
      <header>
        <span class="tag">{CATEGORIES[report.category]}</span>
        <UserLink user={report.reporter} />
        <Time of={report.createdAt} />
      </header>
      {report.comment && <p dir="auto">{report.comment}</p>}
      <Target report={report} onDone={onDecided} />
      {isOpen ? (
        <footer>
          <More label="Decide with a note">
            <Form
              label="Decide"
              submit="Decide"
              does={async (fields) => {
                await decide(report, fields.get("status") === "REJECTED" ? "REJECTED" : "RESOLVED", text(fields, "note"));
                onDecided();
              }}
            >
              <label>
                Decision
                <select name="status">
                  <option value="RESOLVED">Resolved: something was done</option>
                  <option value="REJECTED">Rejected: nothing needs to be done</option>
                </select>
              </label>
              <Input label="Note, for administrators" name="note" maxLength={1000} />
            </Form>
          </More>
        </footer>
      ) : (
        report.note && <p class="faint">{report.note}</p>
      )}
    </article>
  );
}

function Target({ report, onDone }: { report: Report; onDone: () => void }) {
  const { targetType: type, targetId: id } = report;
  switch (type) {
    case "USER":
      return (
        <p>
          <a href={at("accounts", id)}>The reported account</a>
        </p>
      );
    case "COMMENT":
      return <Comment report={report} onDone={onDone} />;
    case "POST":
      return (
        <Post id={id}>
          {(isHidden, reload) => <Decision type={type} report={report} isHidden={isHidden} onShown={reload} onDone={onDone} />}
        </Post>
      );
  }
}

function Comment({ report, onDone }: { report: Report; onDone: () => void }) {
  const comment = report.reportedComment;
  const [isHidden, setIsHidden] = useState(comment?.hidden ?? false);
  if (comment === null) {
    return (
      <p>
        A deleted comment, <code>{report.targetId}</code>
      </p>
    );
  }
  return (
    <>
      <blockquote>
        <UserLink user={comment.author} /> {isHidden && <span class="tag">Hidden</span>}
        <Text content={comment.content} entities={[]} />
      </blockquote>
      <More label="The post that it is on" isLazy>
        <Post id={comment.postId} />
      </More>
      <Decision type="COMMENT" report={report} isHidden={isHidden} onShown={() => setIsHidden(false)} onDone={onDone} />
    </>
  );
}

/** A post. `children` renders the buttons below it. */
function Post(props: { id: string; children?: (isHidden: boolean, reload: () => void) => ComponentChildren }) {
  const path = { postId: props.id };
  const post = useLoaded(async () => (await agora.get("/api/posts/by-id/{postId}", { params: { path } })).data, [path.postId]);
  return (
    <Show of={post}>
      {(data) => (
        <blockquote>
          <UserLink user={data.author} /> {data.hidden && <span class="tag">Hidden</span>}
          <Text content={data.content} entities={[]} />
          <Pictures of={data.attachments} />
          {props.children?.(data.hidden ?? false, post.reload)}
        </blockquote>
      )}
    </Show>
  );
}

interface DecisionProps {
  type: "POST" | "COMMENT";
  report: Report;
  isHidden: boolean;
  onShown: () => void;
  onDone: () => void;
}

function Decision({ type, report, isHidden, onShown, onDone }: DecisionProps) {
  if (!isHidden) return <Hide type={type} report={report} onDone={onDone} />;
  return (
    <More label="Show again">
      <HideForm target={{ type, id: report.targetId }} hidden onDone={onShown} />
    </More>
  );
}

function Hide(props: { type: "POST" | "COMMENT"; report: Report; onDone: () => void }) {
  const { report } = props;
  if (report.status !== "OPEN") return null;
  return (
    <>
      <Action
        kind="danger"
        does={async () => {
          await hide(report);
          props.onDone();
        }}
      >
        Hide it and resolve
      </Action>
      <More label="Hide for another reason">
        <HideForm
          target={{ type: props.type, id: report.targetId }}
          hidden={false}
          onDone={async () => {
            await decide(report, "RESOLVED", "Hidden");
            props.onDone();
          }}
        />
      </More>
    </>
  );
}
