// The posts of all users, with forms to hide them.

import type { components } from "@agora/client";
import { Input, List, More, Time, Title, UserLink } from "../../shared/basics";
import { replaced, useList } from "../../shared/load";
import { Pictures } from "../../shared/pictures";
import { QueryForm } from "../../shared/query";
import { agora } from "../../shared/session";
import { Text } from "../../shared/text";
import { Comments } from "./comments";
import { HideForm } from "./hide";

type Schemas = components["schemas"];
type Post = Schemas["AdminPost"] | Schemas["PostByPublicAuthor"];

export function Posts({ query }: { query: URLSearchParams }) {
  const q = query.get("q") ?? "";
  return (
    <>
      <Title>Posts</Title>
      <QueryForm label="Find posts" place="posts" asked={{ q }}>
        <Input label="Words" name="q" type="search" value={q} maxLength={200} />
      </QueryForm>
      <Found key={q} q={q} />
    </>
  );
}

function Found({ q }: { q: string }) {
  // The results of a search of this type are posts.
  const found = () =>
    agora.list("/api/search", { params: { query: { type: "posts", q } } }) as unknown as AsyncGenerator<Post, void, void>;
  const posts = useList<Post>(() => (q ? found() : agora.list("/api/posts/all", { params: { query: { size: 20 } } })), []);
  return (
    <List of={posts} label="Posts" empty="There are no such posts.">
      {(post) => (
        <article aria-label={`Post by ${post.author.username}`}>
          <header>
            <UserLink user={post.author} />
            <Time of={post.createdAt} />
            {post.visibility !== "PUBLIC" && <span class="tag">{post.visibility}</span>}
            {post.hidden && <span class="tag">Hidden</span>}
          </header>
          {post.content && <Text content={post.content} entities={[]} />}
          <Pictures of={post.attachments} />
          <footer>
            <More key={String(post.hidden)} label={post.hidden ? "Show again" : "Hide"}>
              <HideForm
                target={{ type: "POST", id: post.id }}
                hidden={post.hidden ?? false}
                onDone={async () => {
                  posts.change((items) => replaced(items, post, (now) => ({ ...now, hidden: !post.hidden })));
                  // Its pictures have other addresses now.
                  const path = { postId: post.id };
                  const { attachments } = (await agora.get("/api/posts/by-id/{postId}", { params: { path } })).data;
                  posts.change((items) => replaced(items, post, (now) => ({ ...now, attachments })));
                }}
              />
            </More>
            <More label="Comments" isLazy>
              <Comments postId={post.id} />
            </More>
          </footer>
        </article>
      )}
    </List>
  );
}
