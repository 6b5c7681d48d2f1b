//! A client of the interface.

use std::{
    io::Cursor,
    time::{Duration, Instant},
};

use image::{ImageFormat, Rgb, RgbImage};
use reqwest::{
    Client, Method, RequestBuilder,
    multipart::{Form, Part},
};
use serde_json::{Value, json};

use crate::process::HANG;

/// The password of every account that the tests make.
pub(crate) const PASSWORD: &str = "correct horse";

/// An account, and a token of it.
#[derive(Debug, Clone)]
pub(crate) struct User {
    pub(crate) id: String,
    pub(crate) name: String,
    pub(crate) token: String,
}

/// An answer, read whole.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) body: Vec<u8>,
}

impl Answer {
    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap()
    }

    pub(crate) fn data(&self) -> Value {
        self.json()["data"].take()
    }

    /// Checks the status; the body is in the message when it differs.
    #[track_caller]
    pub(crate) fn expect(self, status: u16) -> Self {
        assert_eq!(self.status, status, "{}", self.text());
        self
    }
}

/// A running service, as its clients see it.
#[derive(Debug, Clone)]
pub(crate) struct Api {
    url: String,
    client: Client,
}

impl Api {
    pub(crate) fn new(url: &str) -> Self {
        // A client that works in parallel opens connections to spare, and a service ends those on which no request
        // comes in time: none is kept until then.
        let idle = Duration::from_secs(1);
        let client = Client::builder().no_proxy().timeout(HANG).pool_idle_timeout(idle).build().unwrap();
        Self { url: url.to_owned(), client }
    }

    /// Where the service is.
    pub(crate) fn url(&self) -> &str {
        &self.url
    }

    /// A request without a token.
    pub(crate) fn request(&self, method: Method, path: &str) -> RequestBuilder {
        self.client.request(method, format!("{}{path}", self.url))
    }

    /// A request of somebody.
    pub(crate) fn request_as(&self, user: &User, method: Method, path: &str) -> RequestBuilder {
        self.request(method, path).bearer_auth(&user.token)
    }

    /// The answer; `None` when the service went away before it was whole.
    pub(crate) async fn try_send(&self, request: RequestBuilder) -> Option<Answer> {
        let response = request.send().await.ok()?;
        let status = response.status().as_u16();
        Some(Answer { status, body: response.bytes().await.ok()?.to_vec() })
    }

    pub(crate) async fn send(&self, request: RequestBuilder) -> Answer {
        let response = request.send().await.unwrap();
        let status = response.status().as_u16();
        Answer { status, body: response.bytes().await.unwrap().to_vec() }
    }

    /// Calls as somebody, without a body.
    pub(crate) async fn call(&self, user: &User, method: Method, path: &str) -> Answer {
        self.send(self.request_as(user, method, path)).await
    }

    pub(crate) async fn get(&self, user: &User, path: &str) -> Answer {
        self.call(user, Method::GET, path).await
    }

    pub(crate) async fn register(&self, name: &str) -> Answer {
        let body = json!({ "username": name, "email": format!("{name}@example.org"), "password": PASSWORD });
        self.send(self.request(Method::POST, "/api/auth/register").json(&body)).await
    }

    pub(crate) async fn login(&self, identifier: &str, password: &str) -> Answer {
        let body = json!({ "identifier": identifier, "password": password });
        self.send(self.request(Method::POST, "/api/auth/login").json(&body)).await
    }

    /// Logs an account in.
    pub(crate) async fn log_in(&self, name: &str) -> User {
        let token = text(&self.login(name, PASSWORD).await.expect(200).json()["token"]);
        let mut user = User { id: String::new(), name: name.to_owned(), token };
        user.id = text(&self.get(&user, "/api/users/me").await.expect(200).data()["id"]);
        user
    }

    /// Registers an account and logs it in.
    pub(crate) async fn user(&self, name: &str) -> User {
        self.register(name).await.expect(201);
        self.log_in(name).await
    }

    /// A request that publishes a post.
    pub(crate) fn posting(&self, author: &User, content: &str, picture: Option<&[u8]>) -> RequestBuilder {
        let mut form = Form::new().text("text", content.to_owned());
        if let Some(picture) = picture {
            form = form.part("image", Part::bytes(picture.to_vec()).file_name("holiday.png"));
        }
        self.request_as(author, Method::POST, "/api/posts/create").multipart(form)
    }

    /// Publishes a post; the post.
    pub(crate) async fn post(&self, author: &User, content: &str, picture: Option<&[u8]>) -> Value {
        self.send(self.posting(author, content, picture)).await.expect(201).data()
    }

    /// A request that comments.
    pub(crate) fn commenting(&self, author: &User, post: &str, content: &str) -> RequestBuilder {
        let body = json!({ "postId": post, "content": content });
        self.request_as(author, Method::POST, "/api/comments/create").json(&body)
    }

    /// A post as somebody sees it.
    pub(crate) async fn view(&self, viewer: &User, post: &str) -> Value {
        self.get(viewer, &format!("/api/posts/by-id/{post}")).await.expect(200).data()
    }

    /// The bytes served at the address of an image, which must be below this service's own.
    pub(crate) async fn image(&self, address: &Value) -> Vec<u8> {
        let path = address.as_str().unwrap().strip_prefix(&self.url).unwrap();
        self.send(self.request(Method::GET, path)).await.expect(200).body
    }
}

/// The text of a JSON string.
#[track_caller]
pub(crate) fn text(value: &Value) -> String {
    value.as_str().unwrap_or_else(|| panic!("no string: {value}")).to_owned()
}

/// The entries of a JSON array.
#[track_caller]
pub(crate) fn list(value: &Value) -> &[Value] {
    value.as_array().unwrap_or_else(|| panic!("no array: {value}"))
}

/// The key of an image: the end of its address.
pub(crate) fn key(address: &Value) -> String {
    address.as_str().unwrap().rsplit('/').next().unwrap().to_owned()
}

/// A picture, as a PNG file.
pub(crate) fn picture() -> Vec<u8> {
    let pixels = RgbImage::from_fn(64, 48, |x, y| Rgb([(x * 4) as u8, (y * 5) as u8, ((x * y) % 251) as u8]));
    let mut file = Cursor::new(Vec::new());
    pixels.write_to(&mut file, ImageFormat::Png).unwrap();
    file.into_inner()
}

/// Checks that a file shows that picture.
#[track_caller]
pub(crate) fn expect_picture(file: &[u8]) {
    let decode = |file| image::load_from_memory(file).unwrap().into_rgb8();
    assert!(decode(file) == decode(&picture()), "another picture");
}

/// Probes until there is something.
pub(crate) async fn eventually<T>(what: &str, probe: impl AsyncFn() -> Option<T>) -> T {
    let begun = Instant::now();
    loop {
        if let Some(found) = probe().await {
            return found;
        }
        assert!(begun.elapsed() < HANG, "never: {what}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}
