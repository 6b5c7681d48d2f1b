//! Checks what event streams deliver to each user of everything that happened.

use serde_json::Value;

use super::model::{PEOPLE, Post, Who};
use super::world::World;
use crate::sse::{EventStream, listening};
use crate::support::User;

/// The maximum number of topics of a stream.
const TOPICS: usize = 50;

impl World {
    /// Checks the stream of each viewer, resumed from the very beginning: it delivers what the viewer may view now.
    pub(super) async fn expect_streams(&self) {
        let marker = self.server.user("marker").await;
        let mut marks = Vec::new();
        for viewer in 0..PEOPLE {
            // This post is the last event.
            marks.push(self.server.publish(&marker, "the end", "PUBLIC").await);
            self.expect_stream(viewer, &marks).await;
        }
        for post in &self.model.posts {
            self.expect_topic(post).await;
        }
    }

    async fn expect_stream(&self, viewer: Who, marks: &[String]) {
        let viewable: Vec<_> = self.model.list(viewer, |_| true).into_iter().take(TOPICS - 3).collect();
        let posts: String = viewable.iter().map(|post| format!(",post:{}", post.id)).collect();
        let topics = format!("feed,public,notifications{posts}");
        let events = self.read_events(&self.users[viewer], viewer, &topics, marks.last().unwrap()).await;
        let Some(events) = events else { return };
        let of = |name: &'static str| events.iter().filter(move |(event, _)| event == name).map(|(_, data)| data);
        let posts =
            |name: &'static str| of(name).map(|data| data["postId"].as_str().unwrap().to_owned()).collect::<Vec<_>>();
        let oldest_first = |posts: Vec<&Post>| posts.into_iter().rev().map(|post| post.id.clone()).collect::<Vec<_>>();
        assert_eq!(posts("feed"), oldest_first(self.model.feed(viewer)), "{viewer}");
        let public = [oldest_first(self.model.public(viewer)), marks.to_vec()].concat();
        assert_eq!(posts("public"), public, "{viewer}");
        for name in ["comment", "like", "post"] {
            for id in posts(name) {
                assert!(viewable.iter().any(|post| post.id == id), "{viewer} gets an event {name} of {id}");
            }
        }
        for data in of("comment") {
            let comments = viewable.iter().flat_map(|post| &post.comments);
            let comment = comments.into_iter().find(|comment| data["commentId"] == comment.id);
            let is_seen = comment.is_none_or(|comment| self.model.sees(viewer, comment.author));
            assert!(is_seen, "{viewer} is notified of a comment by somebody whom a block hides");
        }
        for data in of("like") {
            let post = viewable.iter().find(|post| data["postId"] == post.id).unwrap();
            assert_eq!(data["likeCount"], post.likes.len(), "{viewer}");
        }
        let listed = self.server.walk(&self.users[viewer], "/api/notifications", "data").await;
        let ids = |list: &mut dyn Iterator<Item = &Value>| {
            let mut ids: Vec<_> = list.map(|entry| entry["id"].as_str().unwrap().to_owned()).collect();
            ids.sort();
            ids.dedup();
            ids
        };
        assert_eq!(ids(&mut of("notification")), ids(&mut listed.iter()), "{viewer}");
        assert!(of("notification").all(|data| data["unread"] == listed.len()), "{viewer}");
    }

    /// Returns the events of a stream up to the last post, or `None` if the viewer may not open it.
    async fn read_events(&self, user: &User, viewer: Who, topics: &str, last: &str) -> Option<Vec<(String, Value)>> {
        let request = listening(&self.server, user, topics, Some(&self.beginning));
        if self.model.status(viewer, 200) != 200 {
            self.server.send(request).await.expect(self.model.status(viewer, 200));
            return None;
        }
        let mut stream = EventStream::of(request).await;
        let mut events = Vec::new();
        loop {
            let event = stream.next().await;
            let is_last = event.name == "public" && event.data["postId"] == last;
            events.push((event.name, event.data));
            if is_last {
                return Some(events);
            }
        }
    }

    /// Checks who may listen to events of a post.
    async fn expect_topic(&self, post: &Post) {
        for viewer in 0..PEOPLE {
            let status = self.model.status_of_view(viewer, post);
            if status != 200 {
                let topics = format!("public,post:{}", post.id);
                self.server.send(listening(&self.server, &self.users[viewer], &topics, None)).await.expect(status);
            }
        }
    }
}
