//! Checks what each user sees, on every endpoint that reads.

use reqwest::Method;
use reqwest::header::{ETAG, IF_NONE_MATCH};
use serde_json::{Value, json};

use super::model::{Act, Comment, Model, PEOPLE, Post, Who};
use super::world::{World, text};
use crate::support::Response;

/// Returns what a viewer who may view a post must see of it, except for times.
fn shown(model: &Model, ids: &[String], viewer: Who, post: &Post) -> Value {
    let likers = post.likes.iter().rev().filter(|who| model.sees(viewer, **who));
    let liked_by: Vec<_> = likers.map(|who| &ids[*who]).collect();
    let content = text(post.request);
    let end = content.len();
    json!({
        "id": post.id, "content": content, "visibility": post.visibility.name(),
        "author": ids[post.author], "image": null, "attachments": [],
        "likedBy": liked_by, "likeCount": post.likes.len(), "likedByMe": post.likes.contains(&viewer),
        "bookmarkedByMe": model.is_bookmarked(viewer, post),
        "commentCount": post.comment_count(), "mayView": model.may_view(viewer, post), "hidden": post.hidden,
        "entities": [{ "type": "hashtag", "start": end - 4, "end": end, "tag": "all" }],
    })
}

/// Returns the same fields of a post in a response.
fn seen(view: &Value) -> Value {
    let liked_by: Vec<_> = entries(&view["likedBy"]).iter().map(|liker| liker["id"].clone()).collect();
    json!({
        "id": view["id"], "content": view["content"], "visibility": view["visibility"],
        "author": view["author"]["id"], "image": view["image"], "attachments": view["attachments"],
        "likedBy": liked_by, "likeCount": view["likeCount"], "likedByMe": view["likedByMe"],
        "bookmarkedByMe": view["bookmarkedByMe"], "commentCount": view["commentCount"], "mayView": true,
        "hidden": view["hidden"] == true,
        "entities": view["entities"],
    })
}

fn entries(list: &Value) -> &[Value] {
    list.as_array().unwrap_or_else(|| panic!("no array: {list}"))
}

fn ids(list: &[Value]) -> Vec<String> {
    list.iter().map(|entry| entry["id"].as_str().unwrap().to_owned()).collect()
}

impl World {
    fn ids(&self) -> Vec<String> {
        self.users.iter().map(|user| user.id.clone()).collect()
    }

    /// Reads a path as a viewer and checks the status: `of_member` if the viewer has a role. Returns the data if it succeeds.
    async fn read(&self, viewer: Who, path: &str, of_member: u16) -> Option<Value> {
        let status = self.model.status(viewer, of_member);
        let answer = self.server.get(&self.users[viewer], path).await;
        assert_eq!(answer.status, status, "{viewer} reads {path}: {}", String::from_utf8_lossy(&answer.body));
        (status == 200).then(|| answer.data())
    }

    /// Walks through a list of posts, page by page, and checks that it shows exactly these.
    async fn expect_posts(&self, viewer: Who, path: &str, posts: Vec<&Post>) {
        let status = self.model.status(viewer, 200);
        if status != 200 {
            self.read(viewer, path, 200).await;
            return;
        }
        let found: Vec<_> = self.server.walk(&self.users[viewer], path, "data").await.iter().map(seen).collect();
        let ids = self.ids();
        let expected: Vec<_> = posts.iter().map(|post| shown(&self.model, &ids, viewer, post)).collect();
        assert_eq!(found, expected, "{viewer} reads {path}");
    }

    /// Checks the following feed of a viewer.
    pub(super) async fn expect_feed(&self, viewer: Who) {
        self.expect_posts(viewer, "/api/posts/following/all?size=2", self.model.feed(viewer)).await;
    }

    /// Checks the notifications of a viewer, and how many are unread.
    async fn expect_notifications(&self, viewer: Who) {
        let status = self.model.status(viewer, 200);
        if status != 200 {
            self.read(viewer, "/api/notifications", 200).await;
            self.read(viewer, "/api/notifications/unread", 200).await;
            return;
        }
        let user = &self.users[viewer];
        let listed = self.server.walk(user, "/api/notifications?size=2", "data").await;
        let mut acts: Vec<Act> = Vec::new();
        for entry in &listed {
            let path = format!("/api/notifications/{}/actors?size=2", entry["id"].as_str().unwrap());
            let actors = ids(&self.server.walk(user, &path, "data").await);
            assert_eq!(entry["count"], actors.len(), "{entry}");
            let shown = ids(entries(&entry["actors"]));
            assert_eq!(shown, actors[..shown.len()], "{entry}");
            assert_eq!(shown.len(), actors.len().min(3), "{entry}");
            let kinds = ["like", "comment", "reply", "follow", "commentLike"];
            let kind = kinds.into_iter().find(|kind| entry["type"] == *kind).unwrap();
            let id = |about: &Value| about["id"].as_str().map(str::to_owned);
            let who = |id: &String| self.users.iter().position(|user| user.id == *id).unwrap();
            acts.extend(actors.iter().map(|actor| (kind, id(&entry["post"]), id(&entry["comment"]), who(actor))));
        }
        acts.sort();
        assert_eq!(acts, self.model.notified_acts(viewer), "notifications of {viewer}");
        let unread = self.read(viewer, "/api/notifications/unread", 200).await.unwrap();
        assert_eq!(unread["count"], listed.len());
    }

    /// Checks every endpoint for every viewer.
    pub(super) async fn expect_everything(&self) {
        for viewer in 0..PEOPLE {
            self.expect_feed(viewer).await;
            self.expect_posts(viewer, "/api/posts/following/all", self.model.feed(viewer)).await;
            self.expect_posts(viewer, "/api/posts/public?size=2", self.model.public(viewer)).await;
            self.expect_posts(viewer, "/api/users/me/bookmarks?size=2", self.model.bookmarked(viewer)).await;
            self.expect_notifications(viewer).await;
            let tagged = || self.model.timeline(viewer, |post| self.model.accounts[post.author].enabled);
            self.expect_posts(viewer, "/api/tags/all/posts?size=2", tagged()).await;
            self.expect_posts(viewer, "/api/tags/%23ALL/posts", tagged()).await;
            for of in 0..PEOPLE {
                self.expect_posts_of(viewer, of).await;
                self.expect_follows(viewer, of).await;
                self.expect_profile(viewer, of).await;
            }
            self.expect_admin_lists(viewer).await;
            self.expect_blocks(viewer).await;
            self.expect_search_results(viewer).await;
        }
        for post in &self.model.posts {
            self.expect_post(post).await;
        }
    }

    async fn expect_posts_of(&self, viewer: Who, of: Who) {
        let id = &self.users[of].id;
        let posts = || self.model.list(viewer, |post| post.author == of);
        for path in [format!("/api/posts/{id}/all"), format!("/api/posts/user/{id}?size=2")] {
            if self.model.sees(viewer, of) {
                self.expect_posts(viewer, &path, posts()).await;
            } else {
                self.read(viewer, &path, 404).await;
            }
        }
    }

    /// Returns the profile of an account as a viewer must see it, or `None` if the viewer must not.
    fn profile(&self, viewer: Who, of: Who) -> Option<Value> {
        let (model, user) = (&self.model, &self.users[of]);
        let is_there = model.accounts[of].enabled && !model.blocks.contains(&(of, viewer));
        if !is_there && !model.is_admin(viewer) {
            return None;
        }
        let relationship = json!({
            "following": model.is_following(viewer, of), "followedBy": model.is_following(of, viewer),
            "blocking": model.blocks.contains(&(viewer, of)), "muting": model.mutes.contains(&(viewer, of)),
        });
        Some(json!({
            "id": user.id, "username": user.name, "displayName": null, "biography": null, "profilePicture": null, "profilePictureThumbnail": null,
            "postCount": model.list(viewer, |post| post.author == of).len(),
            "followerCount": model.followers(of).len(), "followedCount": model.followed(of).len(),
            "relationship": if viewer == of { Value::Null } else { relationship },
        }))
    }

    /// Checks the profile of an account on every endpoint that shows it.
    async fn expect_profile(&self, viewer: Who, of: Who) {
        let without_time = |mut profile: Value| {
            assert!(profile.as_object_mut().unwrap().remove("createdAt").is_some());
            profile
        };
        let (user, expected) = (&self.users[of], self.profile(viewer, of));
        let status = if expected.is_some() { 200 } else { 404 };
        for path in [
            format!("/api/users/{}/profile", user.id),
            format!("/api/users/lookup?username={}", user.name.to_uppercase()),
        ] {
            if let Some(found) = self.read(viewer, &path, status).await {
                assert_eq!(Some(without_time(found)), expected, "{viewer} reads {path}");
            }
        }
        let everybody: Vec<_> = self.users.iter().map(|user| format!("id={}", user.id)).collect();
        let follows = self.model.status_of_follows(viewer, of);
        let named = |list: Vec<Who>| list.into_iter().filter_map(|who| self.profile(viewer, who)).collect::<Vec<_>>();
        let listed = |list: Vec<Who>| named(list.into_iter().filter(|who| self.model.sees(viewer, *who)).collect());
        let enabled = self.by_age().into_iter().rev().filter(|who| self.model.accounts[*who].enabled).collect();
        for (path, status, expected) in [
            (format!("/api/users/profiles?{}", everybody.join("&")), 200, named((0..PEOPLE).collect())),
            (format!("/api/users/{}/followers", user.id), follows, listed(self.model.followers(of))),
            (format!("/api/users/{}/followed", user.id), follows, listed(self.model.followed(of))),
            ("/api/users/directory".to_owned(), 200, listed(enabled)),
        ] {
            if let Some(found) = self.read(viewer, &path, status).await {
                let found: Vec<_> = entries(&found).iter().cloned().map(without_time).collect();
                assert_eq!(found, expected, "{viewer} reads {path}");
            }
        }
    }

    /// Checks the search results of a viewer.
    async fn expect_search_results(&self, viewer: Who) {
        let model = &self.model;
        let is_found = |who: Who| model.accounts[who].enabled;
        let posts = model.timeline(viewer, |post| is_found(post.author));
        self.expect_posts(viewer, "/api/search?type=posts&q=post&size=2", posts).await;
        for (of, user) in self.users.iter().enumerate() {
            let path = format!("/api/search?type=posts&q=post&from={}", user.id);
            if is_found(of) && self.profile(viewer, of).is_some() {
                self.expect_posts(viewer, &path, model.timeline(viewer, |post| post.author == of)).await;
            } else if model.is_admin(viewer) {
                self.expect_posts(viewer, &path, Vec::new()).await;
            } else {
                self.read(viewer, &path, 404).await;
            }
            let path = format!("/api/search?type=users&q={}", user.name);
            if let Some(found) = self.read(viewer, &path, 200).await {
                let expected: Vec<_> =
                    Some(user.id.clone()).filter(|_| is_found(of) && model.sees(viewer, of)).into_iter().collect();
                assert_eq!(ids(entries(&found)), expected, "{viewer} reads {path}");
            }
        }
    }

    async fn expect_follows(&self, viewer: Who, of: Who) {
        let status = self.model.status_of_follows(viewer, of);
        for (list, expected) in [("followers", self.model.followers(of)), ("followed", self.model.followed(of))] {
            let path = format!("/api/follow/{list}/{}", self.users[of].id);
            if let Some(found) = self.read(viewer, &path, status).await {
                let expected = expected.into_iter().filter(|who| self.model.sees(viewer, *who));
                let expected: Vec<_> = expected.map(|who| self.users[who].id.clone()).collect();
                assert_eq!(ids(entries(&found)), expected, "{viewer} reads {path}");
            }
        }
    }

    /// Checks the lists of blocks and mutes of a viewer.
    async fn expect_blocks(&self, viewer: Who) {
        let model = &self.model;
        let is_enabled = |who: Who| model.accounts[who].enabled || model.is_admin(viewer);
        let of = |pairs: &[(Who, Who)], is_shown: &dyn Fn(Who) -> bool| {
            let of_viewer = pairs.iter().rev().filter(|(by, whom)| *by == viewer && is_shown(*whom));
            of_viewer.map(|(_, whom)| self.users[*whom].id.clone()).collect::<Vec<_>>()
        };
        for (path, expected) in [
            ("/api/users/me/blocks?size=2", of(&model.blocks, &is_enabled)),
            ("/api/users/me/mutes?size=2", of(&model.mutes, &|who| is_enabled(who) && model.sees(viewer, who))),
        ] {
            if self.read(viewer, path, 200).await.is_some() {
                let found = self.server.walk(&self.users[viewer], path, "data").await;
                assert_eq!(ids(&found), expected, "{viewer} reads {path}");
            }
        }
    }

    async fn expect_admin_lists(&self, viewer: Who) {
        let is_admin = self.model.is_admin(viewer);
        if is_admin {
            self.expect_posts(viewer, "/api/posts/all?size=3", self.model.list(viewer, |_| true)).await;
        } else {
            self.read(viewer, "/api/posts/all", 403).await;
        }
        let status = if is_admin { 200 } else { 403 };
        if let Some(users) = self.read(viewer, "/api/users/all", status).await {
            let by_age = self.by_age();
            assert_eq!(ids(entries(&users)), by_age.iter().map(|who| self.users[*who].id.clone()).collect::<Vec<_>>());
            for (user, who) in entries(&users).iter().zip(by_age) {
                let account = &self.model.accounts[who];
                let has = |role: &str| entries(&user["authorities"]).iter().any(|it| it["authority"] == role);
                let roles = (has("USER"), has("ADMIN"), user["enabled"].as_bool());
                assert_eq!(roles, (account.is_user, account.is_admin, Some(account.enabled)), "{user}");
            }
        }
        for user in &self.users {
            let path = format!("/api/users/by-id/{}", user.id);
            if let Some(found) = self.read(viewer, &path, status).await {
                assert_eq!(found["id"], user.id.as_str());
            }
        }
    }

    /// Checks what each viewer sees of a post, its likes and its comments.
    async fn expect_post(&self, post: &Post) {
        let ids = self.ids();
        let by_id = format!("/api/posts/by-id/{}", post.id);
        let mut answers: Vec<Response> = Vec::new();
        for viewer in 0..PEOPLE {
            let status = self.model.status_of_view(viewer, post);
            let answer = self.server.get(&self.users[viewer], &by_id).await;
            assert_eq!(answer.status, status, "{viewer} reads {by_id}");
            if status == 200 {
                assert_eq!(seen(&answer.data()), shown(&self.model, &ids, viewer, post), "{viewer} reads {by_id}");
            } else {
                assert!(answer.header(ETAG).is_none() && answer.data().is_null(), "{answer:?}");
            }
            let head = self.server.call(&self.users[viewer], Method::HEAD, &by_id).await.expect(status);
            assert_eq!((head.header(ETAG), head.body.len()), (answer.header(ETAG), 0));
            self.expect_likers(viewer, post, status).await;
            self.expect_comments(viewer, post, status).await;
            self.expect_threads(viewer, post, status).await;
            answers.push(answer);
        }
        self.expect_tags_reveal_nothing(post, &answers).await;
    }

    async fn expect_likers(&self, viewer: Who, post: &Post, status: u16) {
        let path = format!("/api/posts/{}/likes", post.id);
        if let Some(likers) = self.read(viewer, &path, status).await {
            let shown = post.likes.iter().rev().filter(|who| self.model.sees(viewer, **who));
            let expected: Vec<_> = shown.map(|who| self.users[*who].id.clone()).collect();
            assert_eq!(ids(entries(&likers)), expected, "{viewer} reads {path}");
        }
    }

    async fn expect_comments(&self, viewer: Who, post: &Post, status: u16) {
        let path = format!("/api/comments/all/{}", post.id);
        let Some(found) = self.read(viewer, &path, status).await else { return };
        let of = |comment: &Value| (comment["author"]["id"].clone(), comment["content"].clone());
        let found_texts: Vec<_> = entries(&found).iter().map(of).collect();
        let visible = post.comments.iter().filter(|it| self.model.shows(viewer, post, it));
        let expected = visible.map(|it| (json!(self.users[it.author].id), json!(it.text)));
        assert_eq!(found_texts, expected.collect::<Vec<_>>(), "{viewer} reads {path}");
        let embedded = shown(&self.model, &self.ids(), viewer, post);
        for comment in entries(&found) {
            assert_eq!(seen(&comment["post"]), embedded, "{viewer} reads {path}");
        }
    }

    async fn expect_threads(&self, viewer: Who, post: &Post, status: u16) {
        for (order, is_reversed) in [("", false), ("?order=oldest", false), ("?order=newest&size=2", true)] {
            let path = format!("/api/posts/{}/comments{order}", post.id);
            let mut expected: Vec<_> = post.comments.iter().filter(|comment| comment.reply.is_none()).collect();
            if is_reversed {
                expected.reverse();
            }
            self.expect_thread(viewer, post, &path, status, expected).await;
        }
        for comment in &post.comments {
            let thread = comment.reply.as_ref().map_or(&comment.id, |(thread, _)| thread);
            let status = self.model.status_of_comment(viewer, post, comment);
            let path = format!("/api/comments/{}/replies?size=3", comment.id);
            self.expect_thread(viewer, post, &path, status, post.replies(thread)).await;
            let path = format!("/api/comments/{}/likes", comment.id);
            if let Some(likers) = self.read(viewer, &path, status).await {
                let shown = comment.likes.iter().rev().filter(|who| self.model.sees(viewer, **who));
                let expected: Vec<_> = shown.map(|who| self.users[*who].id.clone()).collect();
                assert_eq!(ids(entries(&likers)), expected, "{viewer} reads {path}");
            }
        }
    }

    async fn expect_thread(&self, viewer: Who, post: &Post, path: &str, status: u16, expected: Vec<&Comment>) {
        if self.read(viewer, path, status).await.is_none() {
            return;
        }
        let without_times = |comment: &Value| {
            let mut comment = comment.clone();
            for time in ["createdAt", "updatedAt"] {
                assert!(comment.as_object_mut().unwrap().remove(time).is_some());
            }
            comment
        };
        let found = self.server.walk(&self.users[viewer], path, "data").await;
        let found: Vec<_> = found.iter().map(without_times).collect();
        let shown = |comment: &Comment| {
            let (thread, answered) = comment.reply.clone().unzip();
            let author = &self.users[comment.author];
            let end = comment.text.len();
            let tag = json!({ "type": "hashtag", "start": end - 4, "end": end, "tag": "all" });
            let named: Vec<_> = Some(tag).into_iter().filter(|_| comment.text.ends_with('l')).collect();
            let mut shown = json!({
                "id": comment.id, "content": comment.text, "entities": named, "parentId": thread, "replyToId": answered,
                "author": { "id": author.id, "username": author.name, "displayName": null, "profilePicture": null, "profilePictureThumbnail": null },
                "replyCount": post.reply_count(&comment.id), "likeCount": comment.likes.len(),
                "likedByMe": comment.likes.contains(&viewer),
            });
            if comment.hidden {
                shown["hidden"] = json!(true);
            }
            shown
        };
        let expected = expected.into_iter().filter(|comment| self.model.shows(viewer, post, comment));
        let expected: Vec<_> = expected.map(shown).collect();
        assert_eq!(found, expected, "{viewer} reads {path}");
    }

    /// Checks that a viewer who sends the entity tags of others learns nothing more than that the content is the same.
    async fn expect_tags_reveal_nothing(&self, post: &Post, answers: &[Response]) {
        let path = format!("/api/posts/by-id/{}", post.id);
        for (viewer, own) in answers.iter().enumerate() {
            for other in answers {
                let Some(tag) = other.header(ETAG) else { continue };
                let request = self.server.request(Method::GET, &path).bearer_auth(&self.users[viewer].token);
                let answer = self.server.send(request.header(IF_NONE_MATCH, tag)).await;
                let expected = if own.status == 200 && own.body == other.body { 304 } else { own.status };
                assert_eq!(answer.status, expected, "{viewer} asks {path} with {tag}");
            }
        }
    }
}
