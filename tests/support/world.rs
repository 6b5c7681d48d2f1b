//! A sample of all data that a service stores, and what its users see of it.

use reqwest::Method;
use serde_json::json;

use crate::client::{Client, User, text};
use crate::picture::{expect_picture, picture};

/// The users of the sample, and its main post.
pub(crate) struct World {
    pub(crate) alice: User,
    pub(crate) bob: User,
    pub(crate) root: User,
    /// The id of the post.
    pub(crate) post: String,
    /// The image of the post, as it is served.
    pub(crate) image: Vec<u8>,
}

impl World {
    /// Creates the sample on an empty service that has the administrator `root`.
    pub(crate) async fn make(api: &Client) -> Self {
        let (alice, bob, root) = (api.user("alice").await, api.user("bob").await, api.log_in("root").await);
        let post = api.post(&alice, "A day at the sea", Some(&picture())).await;
        let id = text(&post["id"]);
        let image = api.image(&post["image"]).await;
        expect_picture(&image);
        let private = json!({ "text": "To myself", "visibility": "PRIVATE" });
        api.call_json(&alice, Method::POST, "/api/posts/create", private).await.expect(201);
        api.call(&bob, Method::POST, &format!("/api/posts/like/{id}")).await.expect(200);
        api.send(api.commenting(&bob, &id, "How lovely")).await.expect(201);
        api.call(&bob, Method::POST, &format!("/api/follow/follow/{}", alice.id)).await.expect(200);
        let product = json!({
            "sku": "T-1", "name": "T-shirt", "description": "Plain", "price": 19.99, "category": "Clothes",
            "variants": [{ "color": "red", "size": "M", "stock": 3 }, { "color": "red", "size": "L", "stock": 4 }],
            "stock": 7, "images": ["https://shop.example.org/t-1.png"],
        });
        api.product(&root, product).await;
        Self { alice, bob, root, post: id, image }
    }

    /// Returns the responses to a set of reads of its users. URLs of images are without the host.
    pub(crate) async fn snapshot(&self, api: &Client) -> Vec<String> {
        let Self { alice, bob, root, post, .. } = self;
        let mut responses = Vec::new();
        for (user, path) in [
            (bob, format!("/api/posts/by-id/{post}")),
            (bob, format!("/api/posts/{}/all", alice.id)),
            (bob, "/api/posts/following/all".to_owned()),
            (bob, format!("/api/comments/all/{post}")),
            (bob, format!("/api/posts/{post}/likes")),
            (alice, format!("/api/posts/{}/all", alice.id)),
            (alice, format!("/api/follow/followers/{}", alice.id)),
            (bob, format!("/api/follow/followed/{}", bob.id)),
            (alice, "/api/users/me".to_owned()),
            (alice, "/api/products".to_owned()),
            (root, "/api/products/findAll".to_owned()),
            (root, "/api/users/all".to_owned()),
            (root, "/api/posts/all".to_owned()),
        ] {
            let answer = api.get(user, &path).await.expect(200).text();
            responses.push(answer.replace(api.url(), ""));
        }
        responses
    }

    /// Checks that the image of the post is served unchanged.
    pub(crate) async fn expect_image(&self, api: &Client) {
        let post = api.view(&self.bob, &self.post).await;
        assert!(api.image(&post["image"]).await == self.image, "the image differs");
        // The thumbnail is only checked to exist.
        api.image(&post["attachments"][0]["thumbnailUrl"]).await;
    }
}
