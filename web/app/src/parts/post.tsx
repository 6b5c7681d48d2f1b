// A post in a list, and the form for a new post.

import { AgoraError, type components } from "@agora/client";
import { useRef, useState } from "preact/hooks";
import { type Change, ignoreNotFound, useIsMounted } from "../../../shared/load";
import { at } from "../../../shared/router";
import { agora, me } from "../../../shared/session";
import { count } from "../../../shared/words";
import { Action, Avatar, Button, Choice, Failure, Form, More, takeFocus, text, Time, UserLink } from "../../../shared/basics";
import { Icon } from "../../../shared/icon";
import { Pictures } from "../../../shared/pictures";
import { draftOf } from "./draft";
import { Report } from "./report";
import { Text } from "../../../shared/text";

type Schemas = components["schemas"];
export type Post = Schemas["Post"] | Schemas["PostByPublicAuthor"];
type Visibility = Post["visibility"];

const VISIBILITIES = [
  ["PUBLIC", "For everybody"],
  ["FOLLOWERS", "For followers"],
  ["PRIVATE", "Only for me"],
] as const;

/** Returns the visibility that was chosen in a form. */
function visibilityOf(value: string): Visibility {
  return VISIBILITIES.map(([it]) => it).find((it) => it === value) ?? "PUBLIC";
}

/** Returns the number of likes after the user's own click. If it is another one than before, live updates have counted the click. */
export function likeCount(now: { likeCount: number }, before: { likeCount: number }, likedByMe: boolean): number {
  if (now.likeCount !== before.likeCount) return now.likeCount;
  return now.likeCount + (likedByMe ? 1 : -1);
}

/** A post with its buttons. */
export function PostCard<P extends Post>(props: { post: P; onChange: (change: Change<P>) => void; onDelete: () => void }) {
  const { post, onChange } = props;
  /** The post as it was when the edit began. It may be changed elsewhere meanwhile. */
  const [base, setBase] = useState<P>();
  const edited = (base: P) => draftOf(`edit of ${base.id} ${base.updatedAt}`, base.content).content;
  const path = { postId: post.id };
  const isMine = post.author.id === me.value?.id;
  const card = useRef<HTMLElement>(null);

  function stopEditing(base: P, content: string) {
    edited(base).value = content;
    setBase(undefined);
    card.current?.focus();
  }
  async function toggleLike() {
    const likedByMe = !post.likedByMe;
    const like = "/api/posts/like/{postId}";
    await (likedByMe ? agora.put(like, { params: { path } }) : agora.delete(like, { params: { path } }));
    onChange((now) => ({ ...now, likedByMe, likeCount: likeCount(now, post, likedByMe) }));
  }
  async function toggleBookmark() {
    const bookmarkedByMe = !post.bookmarkedByMe;
    const mark = "/api/posts/{postId}/bookmark";
    await (bookmarkedByMe ? agora.put(mark, { params: { path } }) : agora.delete(mark, { params: { path } }));
    onChange((now) => ({ ...now, bookmarkedByMe }));
  }

  return (
    <article ref={card} tabIndex={-1} class="post" aria-label={`Post by ${post.author.username}`}>
      <header>
        <Avatar user={post.author} />
        <UserLink user={post.author} />
        <a href={at("post", post.id)}>
          <span class="hidden">Post, </span>
          <Time of={post.createdAt} />
        </a>
        {post.visibility !== "PUBLIC" && (
          <span class="tag">{VISIBILITIES.find(([it]) => it === post.visibility)?.[1]}</span>
        )}
        {post.hidden && <span class="tag">Hidden by an administrator</span>}
      </header>
      {base ? (
        <Form
          label="Edit this post"
          submit="Save"
          does={async (fields) => {
            const [content, visibility] = [edited(base).value, visibilityOf(text(fields, "visibility"))];
            // Send only what was changed here: the rest may have been changed elsewhere.
            const body = {
              ...(content !== base.content && { text: content }),
              ...(visibility !== base.visibility && { visibility }),
            };
            const { data } = await agora.put("/api/posts/update/{postId}", { params: { path }, body });
            const { entities } = data;
            onChange((now) => ({ ...now, content: data.content, entities, visibility: data.visibility }));
            stopEditing(base, data.content);
          }}
        >
          <label>
            Text
            <textarea
              ref={takeFocus}
              rows={4}
              value={edited(base).value}
              onInput={({ currentTarget }) => (edited(base).value = currentTarget.value)}
            />
          </label>
          <Choice label="Who may see it" name="visibility" value={base.visibility} of={VISIBILITIES} />
          <button type="button" onClick={() => stopEditing(base, base.content)}>
            Cancel
          </button>
        </Form>
      ) : (
        post.content && <Text content={post.content} entities={post.entities} />
      )}
      <Pictures of={post.attachments} />
      <footer>
        <Action does={toggleLike} isPressed={post.likedByMe} label={`Like, ${count(post.likeCount, "like")}`}>
          <Icon name="like" isFull={post.likedByMe} /> {post.likeCount}
        </Action>
        <a class="button" href={at("post", post.id)} aria-label={count(post.commentCount, "comment")}>
          <Icon name="comment" /> {post.commentCount}
        </a>
        <Action does={toggleBookmark} isPressed={post.bookmarkedByMe} label="Bookmark">
          <Icon name="bookmarks" isFull={post.bookmarkedByMe} />
        </Action>
        {isMine && !base && !post.hidden && <button onClick={() => setBase(post)}>Edit</button>}
        {isMine ? (
          <More label="Delete">
            <Action
              kind="danger"
              does={async () => {
                await ignoreNotFound(agora.delete("/api/posts/delete/{postId}", { params: { path } }));
                props.onDelete();
              }}
            >
              Delete this post for good
            </Action>
          </More>
        ) : (
          <Report type="POST" id={post.id} />
        )}
      </footer>
    </article>
  );
}

/** Uploads a picture unless it was uploaded already or is being uploaded, and returns the id of the upload. */
function upload(picture: Chosen): Promise<string> {
  const { file, alt } = picture;
  picture.upload ??= agora.post("/api/media", { body: { image: file, alt } }).then(
    ({ data }) => data.id,
    (failure: unknown) => {
      delete picture.upload;
      if (failure instanceof AgoraError) failure.message = `${file.name}: ${failure.message}`;
      throw failure;
    },
  );
  return picture.upload;
}

/** A picture that was chosen for a new post, with its upload. */
interface Chosen {
  file: File;
  alt: string;
  upload?: Promise<string>;
}

const MAX_PICTURES = 4;

/** The pictures of a new post, each with a field for its alternative text. */
function ChosenPictures({ of: chosen, onChange }: { of: Chosen[]; onChange: (chosen: Chosen[]) => void }) {
  return (
    <ol aria-label="Chosen pictures" class="plain">
      {chosen.map((picture, n) => (
        <li key={n} class="row">
          <label>
            What {picture.file.name} shows, for people who cannot see it
            <input
              value={picture.alt}
              maxLength={1500}
              onInput={(event) => {
                const alt = event.currentTarget.value;
                // The text is part of the upload: drop it to upload again.
                onChange(chosen.map((it) => (it === picture ? { file: it.file, alt } : it)));
              }}
            />
          </label>
          <Button onClick={() => onChange(chosen.filter((_, other) => other !== n))}>Remove {picture.file.name}</Button>
        </li>
      ))}
    </ol>
  );
}

const EMPTY = { text: "", visibility: "PUBLIC" as Visibility, pictures: [] as Chosen[] };

/** The form for a new post. `onPost` is called with the post, unless the form is unmounted by then. */
export function Composer({ onPost }: { onPost: (post: Schemas["Post"]) => void }) {
  const isMounted = useIsMounted();
  const [refusal, setRefusal] = useState("");
  const { content: draft, sendOnce } = draftOf("post", EMPTY);
  const change = (change: Partial<typeof EMPTY>) => (draft.value = { ...draft.value, ...change });
  const { pictures } = draft.value;
  return (
    <Form
      label="New post"
      submit="Post"
      does={async () => {
        const { text, visibility } = draft.value;
        const mediaIds: string[] = [];
        for (const picture of pictures) mediaIds.push(await upload(picture));
        const body = { text, visibility, mediaIds };
        const send = (header: { "Idempotency-Key": string }) => agora.post("/api/posts/create", { params: { header }, body });
        const { data } = await sendOnce(JSON.stringify(body), send).catch((failure: unknown) => {
          // The service deletes unused uploads after an hour: upload again.
          if (failure instanceof AgoraError && failure.failure?.codes?.mediaIds) for (const picture of pictures) delete picture.upload;
          throw failure;
        });
        // Keep what the user added meanwhile.
        const left = draft.value.pictures.filter(({ file }) => !pictures.some((sent) => sent.file === file));
        change({ ...(draft.value.text === text && EMPTY), pictures: left });
        if (isMounted.current) onPost(data);
      }}
    >
      <label>
        What is new?
        <textarea rows={3} value={draft.value.text} onInput={({ currentTarget }) => change({ text: currentTarget.value })} />
      </label>
      <div class="row">
        <label>
          Add pictures, {MAX_PICTURES} at most
          <input
            type="file"
            multiple
            accept="image/png,image/jpeg,image/gif,image/webp"
            onChange={(event) => {
              const files = [...(event.currentTarget.files ?? [])];
              event.currentTarget.value = "";
              const all = [...pictures, ...files.map((file) => ({ file, alt: "" }))];
              const left = all.slice(MAX_PICTURES).map(({ file }) => file.name);
              setRefusal(left.length > 0 ? `A post has ${MAX_PICTURES} pictures at most. Not added: ${left.join(", ")}` : "");
              change({ pictures: all.slice(0, MAX_PICTURES) });
            }}
          />
        </label>
        <Choice
          label="Who may see it"
          name="visibility"
          value={draft.value.visibility}
          of={VISIBILITIES}
          onChange={(value) => change({ visibility: visibilityOf(value) })}
        />
      </div>
      <Failure>{refusal}</Failure>
      {pictures.length > 0 && <ChosenPictures of={pictures} onChange={(pictures) => change({ pictures })} />}
    </Form>
  );
}
