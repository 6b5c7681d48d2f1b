//! A server on which every list has entries.

use reqwest::Method;
use serde_json::{Value, json};

use crate::support::{Response, Server, User};

pub(super) const FEED: &str = "/api/posts/following/all";

/// A list under test. It has five entries, or four if it is of follows.
pub(super) struct List {
    /// The kind of its entries. A cursor is valid for lists of the same kind only.
    pub(super) kind: Kind,
    /// The user who reads it.
    pub(super) reader: User,
    pub(super) path: String,
    /// The field that holds the entries.
    pub(super) entries: &'static str,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Users,
    Posts,
    Likes,
    Comments,
    Follows,
    Products,
    Directory,
    Bookmarks,
    Found,
}

/// A server with five users and five products. One user is the author of five posts, of which all like and comment on the last;
/// the others follow the author and are followed back.
pub(super) struct World {
    pub(super) server: Server,
    pub(super) root: User,
    pub(super) author: User,
    pub(super) fan: User,
    pub(super) post: String,
    /// A comment on another post, which all users answer and like.
    comment: String,
    /// The path of the comments on that post.
    commented: String,
}

impl World {
    pub(super) async fn start() -> Self {
        let server = Server::start().await;
        let (root, author) = (server.root().await, server.user("author").await);
        let mut users = vec![root.clone()];
        for name in ["ann", "ben", "cleo"] {
            users.push(server.user(name).await);
        }
        let mut posts = Vec::new();
        for i in 0..5 {
            posts.push(server.publish(&author, &format!("post {i} #walked"), "PUBLIC").await);
        }
        let post = posts[4].clone();
        let fan = users[3].clone();
        let body = json!({ "content": "comment" });
        let commented = format!("/api/posts/{}/comments", posts[0]);
        let comment = server.call_json(&author, Method::POST, &commented, body).await.expect(201).data();
        let comment = comment["id"].as_str().unwrap().to_owned();
        let world = Self { server, root, author, fan, post, comment, commented };
        for post in &posts {
            world.add_bookmark(post).await;
        }
        for user in users.iter().chain([&world.author]) {
            world.add_like(user).await;
            world.add_comment(user).await;
        }
        for user in &users {
            world.server.follow(user, &world.author).await;
            world.server.follow(&world.author, user).await;
        }
        for i in 0..5 {
            world.add_product(&format!("S-{i}")).await;
        }
        world
    }

    pub(super) async fn add_like(&self, user: &User) {
        for path in [format!("/api/posts/like/{}", self.post), format!("/api/comments/{}/like", self.comment)] {
            self.server.call(user, Method::PUT, &path).await.expect(200);
        }
    }

    pub(super) async fn add_bookmark(&self, post: &str) {
        self.server.call(&self.fan, Method::PUT, &format!("/api/posts/{post}/bookmark")).await.expect(200);
    }

    pub(super) async fn add_comment(&self, user: &User) {
        let body = json!({ "postId": self.post, "content": "comment" });
        self.server.call_json(user, Method::POST, "/api/comments/create", body).await.expect(201);
        let body = json!({ "replyToId": self.comment, "content": "answer" });
        self.server.call_json(user, Method::POST, &self.commented, body).await.expect(201);
    }

    pub(super) async fn add_product(&self, sku: &str) {
        self.server.product(&self.root, json!({ "sku": sku, "name": "Big pot", "category": "Küche & Bad" })).await;
    }

    /// Adds an entry to every list of a kind.
    pub(super) async fn add(&self, kind: Kind, name: &str) {
        match kind {
            Kind::Users | Kind::Directory => drop(self.server.user(name).await),
            Kind::Posts => drop(self.server.publish(&self.author, &format!("{name} #walked"), "PUBLIC").await),
            Kind::Bookmarks => {
                let post = self.server.publish(&self.author, name, "PUBLIC").await;
                self.add_bookmark(&post).await;
            }
            Kind::Likes => self.add_like(&self.server.user(name).await).await,
            Kind::Comments => self.add_comment(&self.fan).await,
            Kind::Follows => {
                let user = self.server.user(name).await;
                self.server.follow(&user, &self.author).await;
                self.server.follow(&self.author, &user).await;
            }
            Kind::Products => self.add_product(name).await,
            Kind::Found => {
                self.server.publish(&self.author, &format!("post {name}"), "PUBLIC").await;
                self.add_product(name).await;
            }
        }
    }

    /// Returns every list of the interface.
    pub(super) fn lists(&self) -> Vec<List> {
        let list = |kind, reader: &User, path: String, entries| List { kind, reader: reader.clone(), path, entries };
        let data = |kind, reader, path| list(kind, reader, path, "data");
        let products = |path: &str| list(Kind::Products, &self.fan, path.to_owned(), "products");
        let (id, post, comment) = (&self.author.id, &self.post, &self.comment);
        vec![
            data(Kind::Users, &self.root, "/api/users/all".to_owned()),
            data(Kind::Posts, &self.root, "/api/posts/all".to_owned()),
            data(Kind::Posts, &self.fan, format!("/api/posts/{id}/all")),
            data(Kind::Posts, &self.fan, format!("/api/posts/user/{id}")),
            data(Kind::Posts, &self.fan, FEED.to_owned()),
            data(Kind::Posts, &self.fan, "/api/posts/public".to_owned()),
            data(Kind::Bookmarks, &self.fan, "/api/users/me/bookmarks".to_owned()),
            data(Kind::Posts, &self.fan, "/api/tags/Walked/posts".to_owned()),
            data(Kind::Likes, &self.fan, format!("/api/posts/{post}/likes")),
            data(Kind::Comments, &self.fan, format!("/api/comments/all/{post}")),
            data(Kind::Comments, &self.fan, format!("/api/posts/{post}/comments")),
            data(Kind::Comments, &self.fan, format!("/api/comments/{comment}/replies")),
            data(Kind::Likes, &self.fan, format!("/api/comments/{comment}/likes")),
            data(Kind::Follows, &self.fan, format!("/api/follow/followers/{id}")),
            data(Kind::Follows, &self.fan, format!("/api/follow/followed/{id}")),
            data(Kind::Directory, &self.fan, "/api/users/directory".to_owned()),
            data(Kind::Follows, &self.fan, format!("/api/users/{id}/followers")),
            data(Kind::Follows, &self.fan, format!("/api/users/{id}/followed")),
            products("/api/products/findAll"),
            products("/api/products/findAll?category=k%C3%BCche+%26+bad&q=big%20p"),
            products("/api/products/category/K%C3%9CCHE%20&%20bad"),
            products("/api/products"),
            data(Kind::Found, &self.fan, format!("/api/search?type=posts&q=post&from={id}")),
            data(Kind::Found, &self.fan, "/api/search?type=products&q=pot+big+k%C3%BC".to_owned()),
        ]
    }

    pub(super) async fn read(&self, list: &List, query: &str) -> Response {
        let joint = if list.path.contains('?') { '&' } else { '?' };
        self.server.get(&list.reader, &format!("{}{joint}{query}", list.path)).await
    }

    /// Reads a whole list as one page.
    pub(super) async fn whole(&self, list: &List) -> Vec<Value> {
        entries(list, &self.read(list, "size=100").await.expect(200))
    }
}

pub(super) fn entries(list: &List, answer: &Response) -> Vec<Value> {
    answer.json()[list.entries].as_array().unwrap().clone()
}
