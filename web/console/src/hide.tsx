// The form to hide posts and comments, and to show them again.

import { Form, Input, text } from "../../shared/basics";
import { agora } from "../../shared/session";

type Target = { type: "POST" | "COMMENT"; id: string };

export async function setHidden({ type, id }: Target, hidden: boolean, reason: string): Promise<void> {
  const body = { hidden, reason };
  await (type === "POST"
    ? agora.put("/api/admin/posts/{postId}/hidden", { params: { path: { postId: id } }, body })
    : agora.put("/api/admin/comments/{commentId}/hidden", { params: { path: { commentId: id } }, body }));
}

export function HideForm({ target, hidden, onDone }: { target: Target; hidden: boolean; onDone: () => Promise<void> | void }) {
  const action = hidden ? "Show again" : "Hide";
  return (
    <Form
      label={action}
      submit={action}
      does={async (fields) => {
        await setHidden(target, !hidden, text(fields, "reason"));
        await onDone();
      }}
    >
      <Input label="Reason, for the audit log" name="reason" required />
    </Form>
  );
}
