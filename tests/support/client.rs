//! The client with which tests send requests to the service and read its responses.

#![allow(dead_code, unused_imports, reason = "each suite uses a part")]

mod request;
mod response;

use std::time::{Duration, Instant};

use reqwest::multipart::{Form, Part};
use reqwest::redirect::Policy;
use reqwest::{Body, ClientBuilder, Method, RequestBuilder};
use serde_json::{Value, json};

pub(crate) use self::request::{FORM, JSON, form_bytes, request_bytes};
pub(crate) use self::response::{PUBLIC_URL, Response};

/// The timeout of everything in tests. Whatever takes longer is considered to hang.
pub(crate) const HANG: Duration = Duration::from_secs(90);

/// The password of every account that the tests create.
pub(crate) const PASSWORD: &str = "correct horse";

/// An account and one of its tokens.
#[derive(Debug, Clone)]
pub(crate) struct User {
    pub(crate) id: String,
    pub(crate) name: String,
    pub(crate) token: String,
}

/// A check of every request and its response. It gets the method, the path, the body that was sent, and the response.
pub(crate) type Check = fn(&Method, &str, &[u8], &Response);

/// A client of a service. It follows no redirects.
#[derive(Debug, Clone)]
pub(crate) struct Client {
    url: String,
    http: reqwest::Client,
    check: Check,
}

impl Client {
    pub(crate) fn new(url: &str) -> Self {
        Self::with(url, |builder| builder)
    }

    /// Creates a client whose connections are configured by `change`.
    pub(crate) fn with(url: &str, change: impl FnOnce(ClientBuilder) -> ClientBuilder) -> Self {
        // A client that works in parallel opens spare connections, and the service closes those on which no request arrives in
        // time. The client closes them before that.
        let idle = Duration::from_secs(1);
        let builder = reqwest::Client::builder().no_proxy().redirect(Policy::none()).timeout(HANG);
        let http = change(builder.pool_idle_timeout(idle)).build().unwrap();
        Self { url: url.to_owned(), http, check: |_, _, _, _| () }
    }

    /// Runs this check on every request and its response.
    pub(crate) fn checking(self, check: Check) -> Self {
        Self { check, ..self }
    }

    /// Returns the URL of the service.
    pub(crate) fn url(&self) -> &str {
        &self.url
    }

    /// Returns the builder of a request without a token.
    pub(crate) fn request(&self, method: Method, path: &str) -> RequestBuilder {
        self.http.request(method, format!("{}{path}", self.url))
    }

    /// Returns the builder of a request of a user.
    pub(crate) fn request_as(&self, user: &User, method: Method, path: &str) -> RequestBuilder {
        self.request(method, path).bearer_auth(&user.token)
    }

    /// Sends a request. Fails when the connection ends before the response does.
    async fn exchange(&self, request: RequestBuilder) -> reqwest::Result<Response> {
        let (client, request) = request.build_split();
        let request = request?;
        let (method, path) = (request.method().clone(), request.url().path().to_owned());
        let sent = request.body().and_then(Body::as_bytes).unwrap_or_default().to_vec();
        let response = Response::receive(client.execute(request).await?).await?;
        (self.check)(&method, &path, &sent, &response);
        Ok(response)
    }

    /// Sends a request. Returns `None` if the connection ended before the response was complete.
    pub(crate) async fn try_send(&self, request: RequestBuilder) -> Option<Response> {
        self.exchange(request).await.ok()
    }

    pub(crate) async fn send(&self, request: RequestBuilder) -> Response {
        self.exchange(request).await.unwrap()
    }

    /// Sends a request of a user, without a body.
    pub(crate) async fn call(&self, user: &User, method: Method, path: &str) -> Response {
        self.send(self.request_as(user, method, path)).await
    }

    /// Sends a request of a user, with a JSON body.
    pub(crate) async fn call_json(&self, user: &User, method: Method, path: &str, body: Value) -> Response {
        self.send(self.request_as(user, method, path).json(&body)).await
    }

    /// Sends a request of a user, with a form.
    pub(crate) async fn call_form(&self, user: &User, method: Method, path: &str, form: Form) -> Response {
        self.send(self.request_as(user, method, path).multipart(form)).await
    }

    pub(crate) async fn get(&self, user: &User, path: &str) -> Response {
        self.call(user, Method::GET, path).await
    }

    /// Sends a GET request without a token.
    pub(crate) async fn fetch(&self, path: &str) -> Response {
        self.send(self.request(Method::GET, path)).await
    }

    /// Sends a POST request without a token, with a JSON body.
    pub(crate) async fn post_json(&self, path: &str, body: &Value) -> Response {
        self.send(self.request(Method::POST, path).json(body)).await
    }

    pub(crate) async fn register(&self, name: &str) -> Response {
        self.post_json("/api/auth/register", &registration(name)).await
    }

    pub(crate) async fn login(&self, identifier: &str, password: &str) -> Response {
        self.post_json("/api/auth/login", &json!({ "identifier": identifier, "password": password })).await
    }

    /// Logs in to an account, and returns it.
    pub(crate) async fn log_in(&self, name: &str) -> User {
        let token = text(&self.login(name, PASSWORD).await.expect(200).json()["token"]);
        let mut user = User { id: String::new(), name: name.to_owned(), token };
        user.id = text(&self.get(&user, "/api/users/me").await.expect(200).data()["id"]);
        user
    }

    /// Registers an account and logs in.
    pub(crate) async fn user(&self, name: &str) -> User {
        self.register(name).await.expect(201);
        self.log_in(name).await
    }

    /// Returns the builder of a request that publishes a post.
    pub(crate) fn posting(&self, author: &User, content: &str, picture: Option<&[u8]>) -> RequestBuilder {
        let mut form = Form::new().text("text", content.to_owned());
        if let Some(picture) = picture {
            form = form.part("image", Part::bytes(picture.to_vec()).file_name("holiday.png"));
        }
        self.request_as(author, Method::POST, "/api/posts/create").multipart(form)
    }

    /// Publishes a post and returns it.
    pub(crate) async fn post(&self, author: &User, content: &str, picture: Option<&[u8]>) -> Value {
        self.send(self.posting(author, content, picture)).await.expect(201).data()
    }

    /// Reads all pages of a list, and returns their entries, which are in the field `entries`.
    pub(crate) async fn walk(&self, user: &User, path: &str, entries: &str) -> Vec<Value> {
        let mut all = Vec::new();
        let mut next = Some(path.to_owned());
        while let Some(path) = next {
            let response = self.get(user, &path).await.expect(200);
            all.extend(list(&response.json()[entries]).iter().cloned());
            next = response.next().or_else(|| response.link("next", &self.url));
        }
        all
    }

    /// Returns the builder of a request that comments on a post.
    pub(crate) fn commenting(&self, author: &User, post: &str, content: &str) -> RequestBuilder {
        let body = json!({ "postId": post, "content": content });
        self.request_as(author, Method::POST, "/api/comments/create").json(&body)
    }

    /// Returns a post as a viewer sees it.
    pub(crate) async fn view(&self, viewer: &User, post: &str) -> Value {
        self.get(viewer, &format!("/api/posts/by-id/{post}")).await.expect(200).data()
    }

    /// Returns the bytes served at the URL of an image, which must be one of this service.
    pub(crate) async fn image(&self, address: &Value) -> Vec<u8> {
        let path = address.as_str().unwrap().strip_prefix(&self.url).unwrap();
        self.fetch(path).await.expect(200).body
    }

    /// Adds a role to an account (`ADD`) or removes it (`REMOVE`).
    pub(crate) async fn change_role(&self, admin: &User, user: &User, action: &str, role: &str) -> Response {
        let path = format!("/api/users/update/{}", user.id);
        self.call_json(admin, Method::PUT, &path, json!({ "roleId": role, "action": action })).await
    }

    /// Adds a product, with these fields in place of the default ones, and returns it.
    pub(crate) async fn product(&self, admin: &User, fields: Value) -> Value {
        let mut body = json!({ "sku": "MUG-1", "name": "Mug", "price": 19.9, "category": "Kitchen", "stock": 3 });
        body.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
        self.call_json(admin, Method::POST, "/api/products", body).await.expect(201).json()["product"].take()
    }
}

/// Returns the body of a registration.
pub(crate) fn registration(name: &str) -> Value {
    json!({ "username": name, "email": format!("{name}@example.org"), "password": PASSWORD })
}

/// Returns the text of a JSON string.
#[track_caller]
pub(crate) fn text(value: &Value) -> String {
    value.as_str().unwrap_or_else(|| panic!("no string: {value}")).to_owned()
}

/// Returns the entries of a JSON array.
#[track_caller]
pub(crate) fn list(value: &Value) -> &[Value] {
    value.as_array().unwrap_or_else(|| panic!("no array: {value}"))
}

/// Returns the key of an image, which is the last segment of its URL.
pub(crate) fn key(address: &Value) -> String {
    address.as_str().unwrap().rsplit('/').next().unwrap().to_owned()
}

/// Polls `probe` until it returns something. `what` names it in the failure after [`HANG`].
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
