//! Carries out the steps of a history against the server and the model, and checks each status.

use reqwest::Method;
use serde_json::{Value, json};

use super::model::{Account, Comment, Model, PEOPLE, Post, Visibility, Who, set};
use super::steps::Step;
use crate::client::PASSWORD;
use crate::sse::EventStream;
use crate::support::{Response, Server, User};

/// Returns the text of the post that a request creates. All of them have a hashtag.
pub(super) fn text(request: usize) -> String {
    format!("post {request} #All")
}

/// A server, and the model of what happened on it.
pub(super) struct World {
    pub(super) server: Server,
    pub(super) users: Vec<User>,
    pub(super) model: Model,
    /// The visibility of the post that each request to create one asks for.
    requests: Vec<Visibility>,
    /// The number of comments that were sent.
    comments: usize,
    /// The deleted accounts.
    pub(super) gone: Vec<User>,
    /// The position in the event log at the beginning of the history.
    pub(super) beginning: String,
}

impl World {
    pub(super) async fn new(server: Server) -> Self {
        let mut users = vec![server.root().await];
        let mut model = Model::default();
        for who in 0..PEOPLE {
            if who > 0 {
                users.push(server.user(&format!("user-{who}")).await);
            }
            model.accounts.push(Account { is_user: true, is_admin: who == 0, enabled: true });
        }
        let beginning = EventStream::open(&server, &users[0], "public").await.last_id().to_owned();
        Self { server, users, model, requests: Vec::new(), comments: 0, gone: Vec::new(), beginning }
    }

    /// Sends a request and checks its status: `of_member` if the caller has a role. Returns whether it succeeded, and the
    /// response.
    async fn send(&self, by: Who, method: Method, path: &str, body: Option<Value>, of_member: u16) -> (bool, Response) {
        let status = self.model.status(by, of_member);
        let answer = match body {
            Some(body) => self.server.call_json(&self.users[by], method, path, body).await,
            None => self.server.call(&self.users[by], method, path).await,
        };
        (status < 300, answer.expect(status))
    }

    /// Returns the index of a post, or `None` if there is none yet.
    fn post(&self, number: usize) -> Option<usize> {
        number.checked_rem(self.model.posts.len())
    }

    /// Returns whether a viewer can address an account, to mute it or to undo a mute or block: it does not block the viewer.
    fn is_there(&self, viewer: Who, whom: Who) -> bool {
        self.model.is_admin(viewer) || !self.model.blocks.contains(&(whom, viewer))
    }

    pub(super) async fn perform(&mut self, step: &Step) {
        self.carry_out(step).await;
        self.model.update_suppressed();
    }

    async fn carry_out(&mut self, step: &Step) {
        match *step {
            Step::Publish { by, visibility } => {
                self.requests.push(visibility);
                self.publish(by, self.requests.len() - 1).await;
            }
            Step::Retry { by, post } => {
                let Some(post) = self.post(post) else { return };
                let request = self.model.posts[post].request;
                self.publish(by, request).await;
            }
            Step::SetVisibility { by, post, to } => {
                let Some(n) = self.post(post) else { return };
                let path = format!("/api/posts/update/{}", self.model.posts[n].id);
                let body = json!({ "visibility": to.name() });
                let of_author = if self.model.posts[n].hidden { 403 } else { 200 };
                if self.send(by, Method::PUT, &path, Some(body), self.status_of_author(by, n, of_author)).await.0 {
                    self.model.posts[n].visibility = to;
                }
            }
            Step::Delete { by, post } => {
                let Some(n) = self.post(post) else { return };
                let path = format!("/api/posts/delete/{}", self.model.posts[n].id);
                if self.send(by, Method::DELETE, &path, None, self.status_of_author(by, n, 200)).await.0 {
                    self.model.posts[n].deleted = true;
                }
            }
            Step::Like { by, post, on } => {
                let Some(n) = self.post(post) else { return };
                let post = &self.model.posts[n];
                // Own likes can be taken back in spite of blocks.
                let is_there = !post.deleted && !self.model.is_hidden(by, post);
                let is_own = !on && !self.model.sees(by, post.author) && is_there && post.likes.contains(&by);
                let status = if is_own { self.model.status(by, 200) } else { self.model.status_of_view(by, post) };
                let method = if on { Method::PUT } else { Method::DELETE };
                let path = format!("/api/posts/like/{}", post.id);
                if self.send(by, method, &path, None, status).await.0 {
                    set(&mut self.model.posts[n].likes, by, on);
                }
            }
            Step::Bookmark { by, post, on } => {
                let Some(n) = self.post(post) else { return };
                let post = &self.model.posts[n];
                let (method, status) = match on {
                    true => (Method::PUT, self.model.status_of_view(by, post)),
                    false => {
                        let is_there = self.model.sees(by, post.author) || self.model.is_bookmarked(by, post);
                        let is_there = is_there && !post.deleted && !self.model.is_hidden(by, post);
                        (Method::DELETE, self.model.status(by, if is_there { 200 } else { 404 }))
                    }
                };
                let path = format!("/api/posts/{}/bookmark", post.id);
                if self.send(by, method, &path, None, status).await.0 {
                    set(&mut self.model.bookmarks, (by, n), on);
                }
            }
            Step::Comment { by, post } => {
                let Some(n) = self.post(post) else { return };
                let post = &self.model.posts[n];
                let status = match self.model.status_of_view(by, post) {
                    200 => 201,
                    status => status,
                };
                self.comments += 1;
                let content = format!("comment {}", self.comments);
                let body = json!({ "postId": post.id, "content": content });
                if self.send(by, Method::POST, "/api/comments/create", Some(body), status).await.0 {
                    let path = format!("/api/comments/all/{}", self.model.posts[n].id);
                    let list = self.server.get(&self.users[0], &path).await.expect(200).data();
                    let id = list.as_array().unwrap().last().unwrap()["id"].as_str().unwrap().to_owned();
                    let comment = Comment {
                        id,
                        author: by,
                        text: content,
                        reply: None,
                        answered: None,
                        hidden: false,
                        likes: vec![],
                    };
                    self.model.posts[n].comments.push(comment);
                }
            }
            Step::Reply { by, post, comment } => self.reply(by, post, comment).await,
            Step::LikeComment { by, post, comment, on } => {
                let Some((n, m)) = self.comment(post, comment) else { return };
                let (post, comment) = (&self.model.posts[n], &self.model.posts[n].comments[m]);
                let are_blocked = !self.model.sees(by, post.author) || !self.model.sees(by, comment.author);
                let is_there = !post.deleted && !self.model.is_comment_hidden(by, post, comment);
                let status = match !on && are_blocked && is_there && comment.likes.contains(&by) {
                    true => self.model.status(by, 200),
                    false => self.model.status_of_comment(by, post, comment),
                };
                let path = format!("/api/comments/{}/like", comment.id);
                if self.send(by, if on { Method::PUT } else { Method::DELETE }, &path, None, status).await.0 {
                    set(&mut self.model.posts[n].comments[m].likes, by, on);
                }
            }
            Step::DeleteComment { by, post, comment } => self.delete_comment(by, post, comment).await,
            Step::HidePost { by, post, on } => {
                let Some(n) = self.post(post) else { return };
                let post = &self.model.posts[n];
                let path = format!("/api/admin/posts/{}/hidden", post.id);
                if self.set_hidden(by, &path, post.deleted, on).await {
                    self.model.posts[n].hidden = on;
                }
            }
            Step::HideComment { by, post, comment, on } => {
                let Some((n, m)) = self.comment(post, comment) else { return };
                let post = &self.model.posts[n];
                let path = format!("/api/admin/comments/{}/hidden", post.comments[m].id);
                if self.set_hidden(by, &path, post.deleted, on).await {
                    self.model.posts[n].comments[m].hidden = on;
                }
            }
            Step::Follow { by, whom, on } => {
                let path = format!("/api/follow/follow/{}", self.users[whom].id);
                let method = if on { Method::PUT } else { Method::DELETE };
                let status = status_about(by == whom, !self.model.are_blocked(by, whom));
                if self.send(by, method, &path, None, status).await.0 {
                    set(&mut self.model.follows, (by, whom), on);
                }
            }
            Step::Block { by, whom, on } => {
                let path = format!("/api/users/{}/block", self.users[whom].id);
                let is_done = on || self.model.blocks.contains(&(by, whom)) || self.is_there(by, whom);
                let status = status_about(by == whom, is_done);
                if self.send(by, if on { Method::PUT } else { Method::DELETE }, &path, None, status).await.0 {
                    set(&mut self.model.blocks, (by, whom), on);
                }
                let model = &mut self.model;
                let blocks = &model.blocks;
                model
                    .follows
                    .retain(|(one, other)| !blocks.contains(&(*one, *other)) && !blocks.contains(&(*other, *one)));
            }
            Step::Mute { by, whom, on } => {
                let path = format!("/api/users/{}/mute", self.users[whom].id);
                let is_done = !on && self.model.mutes.contains(&(by, whom)) || self.is_there(by, whom);
                let status = status_about(by == whom, is_done);
                let body = on.then(|| json!({ "hours": 8760 }));
                if self.send(by, if on { Method::PUT } else { Method::DELETE }, &path, body, status).await.0 {
                    set(&mut self.model.mutes, (by, whom), on);
                }
            }
            Step::SetUserRole { to, given } => {
                self.set_role(to, "USER", given).await;
                self.model.accounts[to].is_user = given;
            }
            Step::SetAdminRole { to, given } => {
                self.set_role(to, "ADMIN", given).await;
                self.model.accounts[to].is_admin = given;
            }
            Step::Enable { who, enabled } => {
                let path = format!("/api/users/{}/enabled", self.users[who].id);
                self.send(0, Method::PUT, &path, Some(json!({ "enabled": enabled })), 200).await;
                let was_enabled = std::mem::replace(&mut self.model.accounts[who].enabled, enabled);
                if enabled && !was_enabled {
                    // The sessions of the account ended when it was disabled.
                    self.server.get(&self.users[who], "/api/users/me").await.expect(401);
                    self.users[who] = self.server.log_in(&self.users[who].name).await;
                }
            }
            Step::DeleteAccount { who } => self.delete_account(who).await,
        }
    }

    async fn delete_account(&mut self, who: Who) {
        let body = json!({ "currentPassword": PASSWORD });
        let (method, path) = match who % 2 {
            0 => (Method::DELETE, "/api/users/me"),
            _ => (Method::POST, "/api/users/me/delete"),
        };
        // An account without a role may delete itself too.
        let status = if self.model.accounts[who].enabled { 200 } else { 401 };
        self.server.call_json(&self.users[who], method, path, body).await.expect(status);
        if status != 200 {
            return;
        }
        // No name may be a prefix of another one, since the search for users matches parts of names.
        let letter = ('a'..='z').nth(self.gone.len()).expect("fewer leave than there are letters");
        let user = self.server.user(&format!("newcomer-{letter}")).await;
        self.gone.push(std::mem::replace(&mut self.users[who], user));
        self.model.delete_account(who);
        // The account is invisible at once, even if its data is not erased yet.
        self.expect_gone().await;
        for viewer in 0..PEOPLE {
            self.expect_feed(viewer).await;
        }
        self.server.wait_for_erasure().await;
    }

    /// Returns all accounts, oldest first.
    pub(super) fn by_age(&self) -> Vec<Who> {
        let mut all: Vec<Who> = (0..PEOPLE).collect();
        all.sort_by(|one, other| self.users[*one].id.cmp(&self.users[*other].id));
        all
    }

    /// Checks that nobody sees a deleted account.
    pub(super) async fn expect_gone(&self) {
        for gone in &self.gone {
            self.server.get(gone, "/api/users/me").await.expect(401);
            for viewer in 0..PEOPLE {
                let status = self.model.status(viewer, 404);
                for path in ["profile", "followers", "followed"] {
                    let path = format!("/api/users/{}/{path}", gone.id);
                    self.server.get(&self.users[viewer], &path).await.expect(status);
                }
                for path in [
                    format!("/api/posts/user/{}", gone.id),
                    format!("/api/users/lookup?username={}", gone.name),
                    format!("/api/follow/followers/{}", gone.id),
                ] {
                    self.server.get(&self.users[viewer], &path).await.expect(status);
                }
                let follow = format!("/api/follow/follow/{}", gone.id);
                self.server.call(&self.users[viewer], Method::PUT, &follow).await.expect(status);
            }
        }
    }

    async fn publish(&mut self, by: Who, request: usize) {
        let visibility = self.requests[request];
        let body = json!({ "text": text(request), "visibility": visibility.name() });
        let sent = self.server.request(Method::POST, "/api/posts/create").bearer_auth(&self.users[by].token);
        let sent = sent.header("idempotency-key", format!("key-{request}")).json(&body);
        let before = self
            .model
            .posts
            .iter()
            .find(|post| (post.request, post.author, post.is_author_deleted) == (request, by, false));
        let status = if before.is_some_and(|post| post.deleted) { 404 } else { 201 };
        let answer = self.server.send(sent).await.expect(self.model.status(by, status));
        if ![201, 404].contains(&answer.status) {
            return;
        }
        let is_again = answer.headers.contains_key("idempotency-replayed");
        assert_eq!(is_again, before.is_some(), "by {by}, {body}");
        match before {
            Some(post) if !post.deleted => assert_eq!(answer.data()["id"], post.id),
            Some(_) => {}
            None => {
                let id = answer.data()["id"].as_str().unwrap().to_owned();
                assert!(self.model.posts.iter().all(|post| post.id != id), "somebody else's answer");
                let (likes, comments) = (Vec::new(), Vec::new());
                self.model.posts.push(Post {
                    id,
                    request,
                    author: by,
                    visibility,
                    deleted: false,
                    is_author_deleted: false,
                    hidden: false,
                    likes,
                    comments,
                });
            }
        }
    }

    /// Hides something or shows it again. Returns whether it succeeded.
    async fn set_hidden(&self, by: Who, path: &str, is_gone: bool, hidden: bool) -> bool {
        let status = match self.model.is_admin(by) {
            true if is_gone => 404,
            true => 200,
            false => 403,
        };
        let body = json!({ "hidden": hidden, "reason": "to see who sees it" });
        self.send(by, Method::PUT, path, Some(body), status).await.0
    }

    /// Returns the status of a request that only the author of a post may make.
    fn status_of_author(&self, caller: Who, n: usize, of_author: u16) -> u16 {
        match &self.model.posts[n] {
            Post { deleted: true, .. } => 404,
            post if !self.model.sees(caller, post.author) || self.model.is_hidden(caller, post) => 404,
            post if post.author == caller => of_author,
            _ => 403,
        }
    }

    /// Returns the indices of a post and of a comment on it, or `None` if there is none.
    fn comment(&self, post: usize, comment: usize) -> Option<(usize, usize)> {
        let n = self.post(post)?;
        Some((n, comment.checked_rem(self.model.posts[n].comments.len())?))
    }

    /// Replies to a comment, or comments on the post if there is none.
    async fn reply(&mut self, by: Who, post: usize, comment: usize) {
        let Some(n) = self.post(post) else { return };
        let post = &self.model.posts[n];
        let answered = comment.checked_rem(post.comments.len()).map(|m| post.comments[m].clone());
        // Nobody can reply to a hidden comment.
        let is_seen = answered.as_ref().is_none_or(|it| self.model.sees(by, it.author) && !post.hides(it));
        let status = match self.model.status_of_view(by, post) {
            200 if is_seen => 201,
            200 => 404,
            status => status,
        };
        self.comments += 1;
        let text = format!("comment {} #All", self.comments);
        let body = json!({ "content": text, "replyToId": answered.as_ref().map(|it| &it.id) });
        let path = format!("/api/posts/{}/comments", post.id);
        let (is_done, answer) = self.send(by, Method::POST, &path, Some(body), status).await;
        if is_done {
            let id = answer.data()["id"].as_str().unwrap().to_owned();
            let author = answered.as_ref().map(|it| it.author);
            let reply = answered.map(|it| (it.reply.map_or_else(|| it.id.clone(), |(thread, _)| thread), it.id));
            self.model.posts[n].comments.push(Comment {
                id,
                author: by,
                text,
                reply,
                answered: author,
                hidden: false,
                likes: Vec::new(),
            });
        }
    }

    async fn delete_comment(&mut self, by: Who, post: usize, comment: usize) {
        let Some((n, m)) = self.comment(post, comment).filter(|(n, _)| !self.model.posts[*n].deleted) else { return };
        let post = &self.model.posts[n];
        let id = post.comments[m].id.clone();
        let author = post.comments[m].author;
        let is_hidden = self.model.is_comment_hidden(by, post, &post.comments[m]);
        let status = match self.model.sees(by, author) && self.model.sees(by, post.author) && !is_hidden {
            _ if by == author => 200,
            false => 404,
            true if by == post.author => 200,
            true => 403,
        };
        if self.send(by, Method::DELETE, &format!("/api/comments/delete/{id}"), None, status).await.0 {
            let is_left = |it: &Comment| it.id != id && it.reply.as_ref().is_none_or(|(thread, _)| *thread != id);
            self.model.posts[n].comments.retain(is_left);
        }
    }

    async fn set_role(&self, to: Who, role: &str, given: bool) {
        let action = if given { "ADD" } else { "REMOVE" };
        self.server.change_role(&self.users[0], &self.users[to], action, role).await.expect(200);
    }
}

/// Returns the status of a request about another account. It is 400 if the account is the caller's own.
const fn status_about(is_self: bool, may: bool) -> u16 {
    match (is_self, may) {
        (true, _) => 400,
        (false, true) => 200,
        (false, false) => 404,
    }
}
