// The comments on a post, with forms to hide them.

import { List, More, Time, UserLink } from "../../shared/basics";
import { replaced, useList } from "../../shared/load";
import { agora } from "../../shared/session";
import { Text } from "../../shared/text";
import { HideForm } from "./hide";

export function Comments({ postId }: { postId: string }) {
  const params = { path: { postId }, query: { size: 20 } };
  const comments = useList(() => agora.list("/api/comments/all/{postId}", { params }), [postId]);
  return (
    <List of={comments} label="Comments" empty="There are no comments.">
      {(comment) => (
        <article aria-label={`Comment by ${comment.author.username}`}>
          <header>
            <UserLink user={comment.author} />
            <Time of={comment.createdAt} />
            {comment.hidden && <span class="tag">Hidden</span>}
          </header>
          <Text content={comment.content} entities={[]} />
          <footer>
            <More key={String(comment.hidden)} label={comment.hidden ? "Show again" : "Hide"}>
              <HideForm
                target={{ type: "COMMENT", id: comment.id }}
                hidden={comment.hidden ?? false}
                onDone={() => comments.change((items) => replaced(items, comment, (now) => ({ ...now, hidden: !comment.hidden })))}
              />
            </More>
          </footer>
        </article>
      )}
    </List>
  );
}
