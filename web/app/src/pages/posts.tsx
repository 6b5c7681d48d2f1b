// Lists of posts, and the page of a single post.

import { useState } from "preact/hooks";
import { missed, news, useEvents } from "../live";
import { type LoadedList, replaced, useList, useLoaded, without } from "../../../shared/load";
import { Comments, ownComments } from "../parts/comments";
import { Avatar, Button, List, More, Show, Title, UserLink } from "../../../shared/basics";
import { Composer, type Post, PostCard } from "../parts/post";
import { go } from "../../../shared/router";
import { agora } from "../../../shared/session";
import { count } from "../../../shared/words";

/** A list of posts. */
export function Posts<P extends Post>({ of: posts, empty }: { of: LoadedList<P>; empty: string }) {
  return (
    <List of={posts} label="Posts" empty={empty}>
      {(post) => (
        <PostCard
          post={post}
          onChange={(change) => posts.change((items) => replaced(items, post, change))}
          onDelete={() => posts.change((items) => without(items, post))}
        />
      )}
    </List>
  );
}

/** A button that appears when there are new posts, and shows them. */
function News({ of, onShow }: { of: keyof typeof news; onShow: () => void }) {
  const number = news[of].value;
  return (
    <div role="status">
      {(number > 0 || missed.value) && (
        <Button class="main wide" onClick={onShow}>
          Show {number > 0 ? count(number, "new post") : "what is new"}
        </Button>
      )}
    </div>
  );
}

/** Resets the count of new posts, when the list is read from its beginning. */
function resetNews(of: keyof typeof news): void {
  news[of].value = 0;
  missed.value = false;
}

export function Feed() {
  const posts = useList(() => {
    resetNews("feed");
    return agora.list("/api/posts/following/all", { params: { query: { size: 20 } } });
  }, []);
  return (
    <>
      <Title>Home</Title>
      <Composer onPost={(post) => go(`#/post/${post.id}`)} />
      <News of="feed" onShow={posts.reload} />
      <Posts of={posts} empty="Posts of those whom you follow will be here. Find people, or look around under Public." />
    </>
  );
}

export function Public() {
  const posts = useList(() => {
    resetNews("public");
    return agora.list("/api/posts/public");
  }, []);
  return (
    <>
      <Title>Public</Title>
      <News of="public" onShow={posts.reload} />
      <Posts of={posts} empty="Nobody has posted anything yet." />
    </>
  );
}

export function Bookmarks() {
  const posts = useList(() => agora.list("/api/users/me/bookmarks"), []);
  return (
    <>
      <Title>Bookmarks</Title>
      <Posts of={posts} empty="Posts that you bookmark will be here. Nobody else sees them." />
    </>
  );
}

export function Tag({ tag }: { tag: string }) {
  const posts = useList(() => agora.list("/api/tags/{tag}/posts", { params: { path: { tag } } }), [tag]);
  return (
    <>
      <Title>#{tag}</Title>
      <Posts of={posts} empty="There are no posts with this tag." />
    </>
  );
}

export function PostPage({ id }: { id: string }) {
  const path = { postId: id };
  const post = useLoaded(async () => (await agora.get("/api/posts/by-id/{postId}", { params: { path } })).data, [id]);
  const [turn, setTurn] = useState(0);
  const [comments, setComments] = useState<string[]>([]);
  useEvents([`post:${id}`], (event) => {
    if (event.event === "like") {
      const { likeCount } = event.data;
      post.change((now) => ({ ...now, likeCount }));
    }
    if (event.event === "comment") setComments([...comments, event.data.commentId]);
    const mayHaveMissed = event.event === "reset" || (event.event === "open" && !event.data.resumed);
    if (event.event === "post" || mayHaveMissed) post.reload();
    // Reload the comments, since events about new ones may have been lost.
    if (mayHaveMissed) setTurn((turn) => turn + 1);
  });
  return (
    <>
      <Title>Post</Title>
      <Show of={post}>
        {(data) => (
          <>
            <PostCard post={data} onChange={post.change} onDelete={() => go("#/")} />
            {data.likeCount > 0 && (
              <More label={count(data.likeCount, "like")} isLazy>
                <Likers postId={id} likeCount={data.likeCount} />
              </More>
            )}
            <div role="status">
              {comments.some((comment) => !ownComments.value.has(comment)) && (
                <Button
                  onClick={() => {
                    setComments([]);
                    setTurn(turn + 1);
                    post.reload();
                  }}
                >
                  There are new comments: show them
                </Button>
              )}
            </div>
            <Comments postId={id} authorId={data.author.id} turn={turn} onCount={post.reload} />
          </>
        )}
      </Show>
    </>
  );
}

function Likers({ postId, likeCount }: { postId: string; likeCount: number }) {
  const options = { params: { path: { postId }, query: { size: 20 } } };
  const likers = useList(() => agora.list("/api/posts/{postId}/likes", options), [postId], likeCount);
  return (
    <List of={likers} label="Likes" empty="Nobody.">
      {(liker) => (
        <div class="person">
          <Avatar user={liker} />
          <UserLink user={liker} />
        </div>
      )}
    </List>
  );
}
