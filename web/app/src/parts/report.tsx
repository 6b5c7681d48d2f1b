// The form to report posts, comments and users.

import { agora } from "../../../shared/session";
import { Choice, Form, Input, More, text } from "../../../shared/basics";

const CATEGORIES = [
  ["SPAM", "It is spam"],
  ["ABUSE", "It is abusive"],
  ["ILLEGAL", "It is illegal"],
  ["OTHER", "Something else"],
] as const;

export function Report({ type, id }: { type: "POST" | "COMMENT" | "USER"; id: string }) {
  return (
    <More label="Report">
      <Form
        label="Report"
        submit="Send report"
        done="Thank you. The administrators will look at it."
        does={(fields) => {
          const category = CATEGORIES.map(([category]) => category).find((it) => it === text(fields, "category"));
          const comment = text(fields, "comment");
          const body = { targetType: type, targetId: id, category: category ?? "OTHER", ...(comment && { comment }) };
          return agora.post("/api/reports", { body });
        }}
      >
        <Choice label="Why" name="category" value="SPAM" of={CATEGORIES} />
        <Input label="What should they know?" name="comment" maxLength={1000} />
      </Form>
    </More>
  );
}
