// The list of notifications.

import type { components } from "@agora/client";
import { useEffect, useState } from "preact/hooks";
import { readUnread, unread } from "../live";
import { useList } from "../../../shared/load";
import { Avatar, Button, List, Time, Title } from "../../../shared/basics";
import { at } from "../../../shared/router";
import { agora } from "../../../shared/session";
import { nameOf } from "../../../shared/words";

type Notification = components["schemas"]["Notification"];

const TEXTS: Record<Notification["type"], string> = {
  like: "liked your post",
  comment: "commented on your post",
  reply: "replied to you",
  mention: "mentioned you",
  follow: "followed you",
  commentLike: "liked your comment",
  report: "reported something",
};

export function Notifications() {
  const notifications = useList(() => agora.list("/api/notifications"), []);
  const newest = notifications.items[0];
  const [isMarked, setMarked] = useState(false);
  function mark() {
    if (newest === undefined) return;
    // Mark those shown as read, also older ones below a newest one that was read. Later ones stay unread.
    const shown = { upTo: newest.id, updatedAt: newest.updatedAt };
    // After a failure, the button tries again.
    void agora.put("/api/notifications/read", { body: shown }).then(readUnread, () => undefined).finally(() => setMarked(true));
  }
  useEffect(mark, [newest?.id, newest?.updatedAt]);
  return (
    <>
      <Title>Notifications</Title>
      <div role="status">
        {unread.value > 0 && (isMarked || notifications.items.length === 0) && (
          <Button
            class="main wide"
            onClick={() => {
              notifications.reload();
              // The newest one may still be the same.
              mark();
            }}
          >
            Show what is new
          </Button>
        )}
      </div>
      <List of={notifications} label="Notifications" empty="Nothing has happened yet.">
        {(notification) => <Row notification={notification} />}
      </List>
    </>
  );
}

function Row({ notification }: { notification: Notification }) {
  const { actors, comment, post, type } = notification;
  const [actor] = actors;
  const others = notification.count - 1;
  const target = post ? at("post", post.id) : actor ? at("user", actor.id) : "#/notifications";
  return (
    <div class={notification.read ? "person" : "person unread"}>
      {actor && <Avatar user={actor} />}
      <a class="user" href={target}>
        {!notification.read && <span class="tag">New</span>} <bdi>{actor ? nameOf(actor) : "Somebody"}</bdi>
        {others > 0 && ` and ${others === 1 ? "one other" : `${others} others`}`} {TEXTS[type]}
        {(comment ?? post) && <span class="faint"> “{(comment ?? post)?.content}”</span>}
      </a>
      <Time of={notification.updatedAt} />
    </div>
  );
}
