// Posts: one of a list, and the form for a new one.

import type { components } from "@agora/client";
import { useState } from "preact/hooks";
import { deleted, useKey } from "../../../shared/load";
import { at } from "../../../shared/router";
import { agora, me } from "../../../shared/session";
import { count } from "../../../shared/words";
import { Action, Avatar, Choice, file, Form, More, text, Time, UserLink } from "../../../shared/basics";
import { Icon } from "../../../shared/icon";
import { Report } from "./report";
import { Text } from "../../../shared/text";

type Schemas = components["schemas"];
export type Post = Schemas["Post"] | Schemas["PostByPublicAuthor"];
type Visibility = Post["visibility"];

const VISIBILITIES = [
  ["PUBLIC", "For everybody"],
  ["FOLLOWERS", "For followers"],
  ["PRIVATE", "For me alone"],
] as const;

/** The visibility that was chosen in a form. */
function chosen(fields: FormData): Visibility {
  return VISIBILITIES.map(([it]) => it).find((it) => it === text(fields, "visibility")) ?? "PUBLIC";
}

/** A post, with what one can do with it. */
export function PostCard<P extends Post>(props: { post: P; onChange: (post: P) => void; onDelete: () => void }) {
  const { post, onChange } = props;
  const [isEdited, setEdited] = useState(false);
  const path = { postId: post.id };
  const isMine = post.author.id === me.value?.id;

  async function toggleLike() {
    const likedByMe = !post.likedByMe;
    const like = "/api/posts/like/{postId}";
    await (likedByMe ? agora.put(like, { params: { path } }) : agora.delete(like, { params: { path } }));
    onChange({ ...post, likedByMe, likeCount: post.likeCount + (likedByMe ? 1 : -1) });
  }
  async function toggleBookmark() {
    const bookmarkedByMe = !post.bookmarkedByMe;
    const mark = "/api/posts/{postId}/bookmark";
    await (bookmarkedByMe ? agora.put(mark, { params: { path } }) : agora.delete(mark, { params: { path } }));
    onChange({ ...post, bookmarkedByMe });
  }

  return (
    <article class="post" aria-label={`Post by ${post.author.username}`}>
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
      {isEdited ? (
        <Form
          label="Edit this post"
          submit="Save"
          does={async (fields) => {
            const body = { text: text(fields, "text"), visibility: chosen(fields) };
            const { data } = await agora.put("/api/posts/update/{postId}", { params: { path }, body });
            onChange({ ...post, content: data.content, entities: data.entities, visibility: data.visibility });
            setEdited(false);
          }}
        >
          <label>
            Text
            <textarea name="text" rows={4} defaultValue={post.content} />
          </label>
          <Choice label="Who may see it" name="visibility" value={post.visibility} of={VISIBILITIES} />
          <button type="button" onClick={() => setEdited(false)}>
            Cancel
          </button>
        </Form>
      ) : (
        post.content && <Text content={post.content} entities={post.entities} />
      )}
      {post.image && <img class="picture" src={post.image} alt="" loading="lazy" />}
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
        {isMine && !isEdited && !post.hidden && <button onClick={() => setEdited(true)}>Edit</button>}
        {isMine ? (
          <More label="Delete">
            <Action
              kind="danger"
              does={async () => {
                await deleted(agora.delete("/api/posts/delete/{postId}", { params: { path } }));
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

/** The form for a new post. */
export function Composer({ onPost }: { onPost: (post: Schemas["Post"]) => void }) {
  const keyed = useKey();
  return (
    <Form
      label="New post"
      submit="Post"
      clears
      does={(fields) => {
        const image = file(fields, "image");
        const body = { text: text(fields, "text"), visibility: chosen(fields), ...(image && { image }) };
        const content = JSON.stringify([body.text, body.visibility, image?.name, image?.size, image?.lastModified]);
        return keyed(content, async (header) => {
          onPost((await agora.post("/api/posts/create", { params: { header }, body })).data);
        });
      }}
    >
      <label>
        What is new?
        <textarea name="text" rows={3} />
      </label>
      <div class="row">
        <label>
          Picture
          <input type="file" name="image" accept="image/png,image/jpeg,image/gif,image/webp" />
        </label>
        <Choice label="Who may see it" name="visibility" value="PUBLIC" of={VISIBILITIES} />
      </div>
    </Form>
  );
}
