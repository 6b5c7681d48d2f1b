// The comments on a post, in threads.

import type { components } from "@agora/client";
import { signal } from "@preact/signals";
import { useEffect, useRef, useState } from "preact/hooks";
import { type Change, ignoreNotFound, replaced, useList, without } from "../../../shared/load";
import { agora, me } from "../../../shared/session";
import { count } from "../../../shared/words";
import { Action, Avatar, Button, Form, List, More, takeFocus, Time, UserLink } from "../../../shared/basics";
import { Icon } from "../../../shared/icon";
import { type Draft, draftOf } from "./draft";
import { likeCount } from "./post";
import { Report } from "./report";
import { Text } from "../../../shared/text";

type Comment = components["schemas"]["ThreadedComment"];

/** The ids of comments that were created here, which are not announced as new. */
export const ownComments = signal<ReadonlySet<string>>(new Set());

type Header = { "Idempotency-Key": string };

async function create(postId: string, header: Header, content: string, replyToId?: string): Promise<Comment> {
  const body = { content, ...(replyToId !== undefined && { replyToId }) };
  const { data } = await agora.post("/api/posts/{postId}/comments", { params: { path: { postId }, header }, body });
  ownComments.value = new Set([...ownComments.value, data.id]);
  return data;
}

/** The threads of a post, which are reloaded when `turn` changes. `onCount` is called when the number of comments changes. */
export function Comments(props: { postId: string; authorId: string; turn: number; onCount: () => void }) {
  const { postId, authorId, turn, onCount } = props;
  // Newest first, so that a reload includes new comments, however many there are.
  const params = { path: { postId }, query: { order: "newest" as const } };
  const threads = useList(() => agora.list("/api/posts/{postId}/comments", { params }), [postId], turn);
  return (
    <section aria-label="Comments">
      <h2>Comments</h2>
      <Reply
        label="Your comment"
        draft={draftOf(`comment on ${postId}`, "")}
        onSend={async (content, header) => {
          const comment = await create(postId, header, content);
          // The list may contain it already, if the response to an earlier attempt was lost.
          threads.change((items) => [comment, ...without(items, comment)]);
          onCount();
        }}
      />
      <List of={threads} label="Threads" empty="Nobody has said anything yet.">
        {(thread) => (
          <Thread
            comment={thread}
            postId={postId}
            authorId={authorId}
            turn={turn}
            onChange={(change) => threads.change((items) => replaced(items, thread, change))}
            onEdit={threads.reload}
            onCount={onCount}
            onDelete={() => {
              threads.change((items) => without(items, thread));
              onCount();
            }}
          />
        )}
      </List>
    </section>
  );
}

interface CommentProps {
  comment: Comment;
  postId: string;
  /** The author of the post. */
  authorId: string;
  onChange: (change: Change<Comment>) => void;
  onEdit: () => void;
  onDelete: () => void;
}

function Thread(props: CommentProps & { turn: number; onCount: () => void }) {
  const { comment, onChange, onCount } = props;
  const [isOpen, setOpen] = useState(false);
  // A reply that was written here, until the list of replies shows it.
  const [answer, setAnswer] = useState<Comment | undefined>(undefined);
  function onReplies(more: 1 | -1) {
    onChange((now) => ({ ...now, replyCount: now.replyCount + more }));
    onCount();
  }
  return (
    <>
      <CommentCard
        {...props}
        onReply={(reply) => {
          onReplies(1);
          setOpen(true);
          setAnswer(reply);
        }}
      />
      {comment.replyCount > 0 && (
        <Button class="faint" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
          {isOpen ? "Hide" : "Show"} {count(comment.replyCount, "reply", "replies")}
        </Button>
      )}
      {isOpen && <Replies {...props} answer={answer} onAnswer={() => setAnswer(undefined)} onReplies={onReplies} />}
    </>
  );
}

interface RepliesProps {
  comment: Comment;
  postId: string;
  authorId: string;
  turn: number;
  answer: Comment | undefined;
  onAnswer: () => void;
  onReplies: (more: 1 | -1) => void;
}

function Replies({ comment: thread, postId, authorId, turn, answer, onAnswer, onReplies }: RepliesProps) {
  const path = { commentId: thread.id };
  const replies = useList(() => agora.list("/api/comments/{commentId}/replies", { params: { path } }), [thread.id], turn);
  const add = (reply: Comment) => replies.change((items) => [...without(items, reply), reply]);
  useEffect(() => {
    if (answer === undefined) return;
    add(answer);
    onAnswer();
  }, [answer]);
  // By time: a reply that was written here stays the last one when earlier ones are loaded later.
  const items = [...replies.items].sort((one, other) => Date.parse(one.createdAt) - Date.parse(other.createdAt));
  return (
    <div class="replies">
      <List of={{ ...replies, items }} label={`Replies to ${thread.author.username}`} empty="There are no replies.">
        {(reply) => (
          <CommentCard
            comment={reply}
            postId={postId}
            authorId={authorId}
            onChange={(change) => replies.change((items) => replaced(items, reply, change))}
            onEdit={replies.reload}
            onDelete={() => {
              replies.change((items) => without(items, reply));
              onReplies(-1);
            }}
            onReply={(reply) => {
              add(reply);
              onReplies(1);
            }}
          />
        )}
      </List>
    </div>
  );
}

function CommentCard(props: CommentProps & { onReply: (reply: Comment) => void }) {
  const { comment, postId, authorId, onChange } = props;
  /** The version of the comment that is being edited. The draft is of this version, which may be changed elsewhere. */
  const [version, setVersion] = useState<string>();
  const isEdited = version !== undefined;
  const draft = (version?: string) => draftOf(`edit of ${comment.id} ${version}`, "");
  const path = { commentId: comment.id };
  const isMine = comment.author.id === me.value?.id;
  const card = useRef<HTMLElement>(null);

  function edit() {
    const { content } = draft(comment.updatedAt);
    // Keep what the user has written.
    content.value ||= comment.content;
    setVersion(comment.updatedAt);
  }
  function stopEditing() {
    draft(version).content.value = "";
    setVersion(undefined);
    card.current?.focus();
  }
  async function toggleLike() {
    const likedByMe = !comment.likedByMe;
    const like = "/api/comments/{commentId}/like";
    await (likedByMe ? agora.put(like, { params: { path } }) : agora.delete(like, { params: { path } }));
    onChange((now) => ({ ...now, likedByMe, likeCount: likeCount(now, comment, likedByMe) }));
  }

  return (
    <article ref={card} tabIndex={-1} class="comment" aria-label={`Comment by ${comment.author.username}`}>
      <header>
        <Avatar user={comment.author} />
        <UserLink user={comment.author} />
        <Time of={comment.createdAt} />
        {comment.hidden && <span class="tag">Hidden by an administrator</span>}
      </header>
      {isEdited ? (
        <Reply
          label="Edit this comment"
          draft={draft(version)}
          onCancel={stopEditing}
          onSend={async (content) => {
            await agora.put("/api/comments/update", { body: { commentId: comment.id, content } });
            // The service computes the entities of the new text: show none until the reload.
            onChange((now) => ({ ...now, content, entities: [] }));
            props.onEdit();
            stopEditing();
          }}
        />
      ) : (
        <Text content={comment.content} entities={comment.entities} />
      )}
      <footer>
        <Action does={toggleLike} isPressed={comment.likedByMe} label={`Like, ${count(comment.likeCount, "like")}`}>
          <Icon name="like" isFull={comment.likedByMe} /> {comment.likeCount}
        </Action>
        <More label="Reply" isLazy>
          <Reply
            label={`Reply to ${comment.author.username}`}
            draft={draftOf(`reply to ${comment.id}`, "")}
            onSend={async (content, header) => {
              props.onReply(await create(postId, header, content, comment.id));
            }}
          />
        </More>
        {isMine && !isEdited && !comment.hidden && <button onClick={edit}>Edit</button>}
        {(isMine || authorId === me.value?.id) && (
          <More label="Delete">
            <Action
              kind="danger"
              does={async () => {
                await ignoreNotFound(agora.delete("/api/comments/delete/{commentId}", { params: { path } }));
                props.onDelete();
              }}
            >
              Delete this comment for good
            </Action>
          </More>
        )}
        {!isMine && <Report type="COMMENT" id={comment.id} />}
      </footer>
    </article>
  );
}

/** A form for a new or an edited comment. An edit can be cancelled. */
function Reply(props: {
  label: string;
  draft: Draft<string>;
  onCancel?: () => void;
  onSend: (content: string, header: Header) => Promise<void>;
}) {
  const { content: draft, sendOnce } = props.draft;
  return (
    <Form
      label={props.label}
      submit="Send"
      does={async () => {
        const content = draft.value;
        await sendOnce(content, (header) => props.onSend(content, header));
        // Keep what the user typed meanwhile.
        if (draft.value === content) draft.value = "";
      }}
    >
      <label>
        {props.label}
        <textarea
          ref={props.onCancel ? takeFocus : null}
          rows={2}
          required
          value={draft.value}
          onInput={({ currentTarget }) => (draft.value = currentTarget.value)}
        />
      </label>
      {props.onCancel && (
        <button type="button" onClick={props.onCancel}>
          Cancel
        </button>
      )}
    </Form>
  );
}
