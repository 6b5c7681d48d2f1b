//! A server per test, and a client that reads like the contract.

use std::{
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::TcpStream,
    sync::Arc,
    time::Duration,
};

use agora_domain::{accounts::Registration, clock::Clock};
use agora_server::{app::App, config::Config};
use reqwest::{
    Client, Method, RequestBuilder, StatusCode,
    header::{CONTENT_TYPE, HeaderMap, HeaderName},
    multipart::Form,
};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::contract;

/// The password of every account that the tests register.
pub(crate) const PASSWORD: &str = "correct horse";

/// A running server. It stops with the test's runtime.
pub(crate) struct Server {
    pub(crate) url: String,
    client: Client,
    _data_dir: TempDir,
}

/// A registered account with a token.
#[derive(Debug, Clone)]
pub(crate) struct User {
    pub(crate) id: String,
    pub(crate) name: String,
    pub(crate) token: String,
}

/// An answer, read whole.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Vec<u8>,
}

impl Answer {
    /// The body as JSON; null when it is none.
    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or(Value::Null)
    }

    /// The body as it was before it was compressed, if it was.
    pub(crate) fn decoded(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        match self.header(reqwest::header::CONTENT_ENCODING) {
            _ if self.body.is_empty() => {}
            None => bytes.clone_from(&self.body),
            Some("gzip") => drop(flate2::read::GzDecoder::new(&*self.body).read_to_end(&mut bytes).unwrap()),
            Some("zstd") => bytes = zstd::decode_all(&*self.body).unwrap(),
            Some(other) => panic!("{other}"),
        }
        bytes
    }

    pub(crate) fn data(&self) -> Value {
        self.json()["data"].clone()
    }

    pub(crate) fn header(&self, name: HeaderName) -> Option<&str> {
        self.headers.get(name).map(|value| value.to_str().unwrap())
    }

    /// Checks the status; the body is in the message when it differs.
    #[track_caller]
    pub(crate) fn expect(self, status: u16) -> Self {
        assert_eq!(self.status.as_u16(), status, "{}", String::from_utf8_lossy(&self.body));
        self
    }

    /// Checks that this is the error envelope of a status, and nothing else.
    #[track_caller]
    pub(crate) fn expect_error(self, status: u16, message: &str) -> Self {
        let answer = self.expect(status);
        assert_eq!(answer.header(CONTENT_TYPE), Some("application/json"));
        let json = answer.json();
        assert_eq!(json["success"], json!(false));
        assert_eq!(json["status"], json!(status));
        assert_eq!(json["message"], json!(message));
        assert!(json["code"].is_string(), "{json}");
        // A word for each message.
        let lengths = |of: &Value| {
            let fields = of.as_object().into_iter().flatten();
            fields.map(|(field, all)| (field.clone(), all.as_array().map(Vec::len))).collect::<Vec<_>>()
        };
        assert_eq!(lengths(&json["data"]), lengths(&json["codes"]), "{json}");
        answer
    }

    /// Checks that this is the error envelope of a status and a code.
    #[track_caller]
    pub(crate) fn expect_code(self, status: u16, code: &str) -> Self {
        let answer = self.expect_failure(status);
        assert_eq!(answer.json()["code"], json!(code), "{}", answer.json());
        answer
    }

    /// Checks that this is a validation failure of exactly these fields.
    #[track_caller]
    pub(crate) fn expect_invalid(self, fields: &[&str]) -> Self {
        let answer = self.expect_error(400, "Validation failed");
        let data = answer.data();
        let named: Vec<_> = data.as_object().expect("fields").keys().map(String::as_str).collect();
        assert_eq!(named, fields, "{data}");
        answer
    }

    /// Checks that this is the error envelope of a status, whatever its message says.
    #[track_caller]
    pub(crate) fn expect_failure(self, status: u16) -> Self {
        let message = self.json()["message"].as_str().unwrap_or_default().to_owned();
        assert!(!message.is_empty(), "{self:?}");
        self.expect_error(status, &message)
    }

    /// Where the next page is, as a path with its query.
    pub(crate) fn next(&self) -> Option<String> {
        self.link("next")
    }

    /// Where the page before this one is, likewise.
    pub(crate) fn prev(&self) -> Option<String> {
        self.link("prev")
    }

    fn link(&self, relation: &str) -> Option<String> {
        let parameter = format!(">; rel=\"{relation}\"");
        let links = self.header(reqwest::header::LINK)?;
        let target = links.split(", ").find_map(|link| link.strip_prefix('<')?.strip_suffix(&parameter))?;
        target.strip_prefix(PUBLIC_URL).map(str::to_owned)
    }
}

/// What the servers are told that clients reach them at: links begin with it, whatever the `Host` header says.
pub(crate) const PUBLIC_URL: &str = "https://agora.example.org";

impl Server {
    pub(crate) async fn start() -> Self {
        Self::start_with(|_| ()).await
    }

    /// Starts a server with cheap password hashes, an administrator `root` and images in memory, as `change` has it.
    pub(crate) async fn start_with(change: impl FnOnce(&mut Config)) -> Self {
        Self::start_by(None, change).await
    }

    /// Does the same by this clock, if one is given.
    pub(crate) async fn start_by(clock: Option<Arc<dyn Clock>>, change: impl FnOnce(&mut Config)) -> Self {
        let data_dir = tempfile::tempdir().unwrap();
        let mut config = Config::from_variables(|_| None).unwrap();
        config.listen = "127.0.0.1:0".to_owned();
        config.data_dir = data_dir.path().join("data");
        config.media_url = Some("memory:".to_owned());
        config.public_url = Some(PUBLIC_URL.to_owned());
        config.bcrypt_cost = 4;
        config.workers = 1;
        let root = Registration::parse(Some("root"), Some("root@example.org"), Some(PASSWORD), None);
        config.admin = Some(root.unwrap());
        change(&mut config);
        let app = match clock {
            Some(clock) => App::start_by(clock, &config).await.unwrap(),
            None => App::start(&config).await.unwrap(),
        };
        let url = format!("http://{}", app.address);
        tokio::spawn(app.run());
        Self { url, client: Client::new(), _data_dir: data_dir }
    }

    /// The address of a path.
    pub(crate) fn address(&self, path: &str) -> String {
        format!("{}{path}", self.url)
    }

    /// A request without a token.
    pub(crate) fn request(&self, method: Method, path: &str) -> RequestBuilder {
        self.client.request(method, self.address(path))
    }

    /// Sends a request, and checks that it and its answer are as the OpenAPI document says.
    pub(crate) async fn send(&self, request: RequestBuilder) -> Answer {
        let (client, request) = request.build_split();
        let request = request.unwrap();
        let (method, asked) = (request.method().clone(), request.url().path().to_owned());
        let is_json = request.headers().get(CONTENT_TYPE).is_some_and(|it| it == "application/json");
        let json = request.body().filter(|_| is_json).and_then(|body| body.as_bytes()).map(<[u8]>::to_vec);

        let response = client.execute(request).await.unwrap();
        // Where a redirect led.
        let path = response.url().path().to_owned();
        let (status, headers) = (response.status(), response.headers().clone());
        let answer = Answer { status, headers, body: response.bytes().await.unwrap().to_vec() };
        contract::check_answer(method.as_str(), &path, status.as_u16(), &answer.headers, &answer.decoded());
        if let Some(json) = json.filter(|_| status.is_success()) {
            contract::check_request(method.as_str(), &asked, &json);
        }
        answer
    }

    /// Calls as somebody, without a body.
    pub(crate) async fn call(&self, user: &User, method: Method, path: &str) -> Answer {
        self.send(self.request(method, path).bearer_auth(&user.token)).await
    }

    /// Calls as somebody, with a JSON body.
    pub(crate) async fn call_json(&self, user: &User, method: Method, path: &str, body: Value) -> Answer {
        self.send(self.request(method, path).bearer_auth(&user.token).json(&body)).await
    }

    /// Calls as somebody, with a form.
    pub(crate) async fn call_form(&self, user: &User, method: Method, path: &str, form: Form) -> Answer {
        self.send(self.request(method, path).bearer_auth(&user.token).multipart(form)).await
    }

    /// Sends bytes as they are, on a connection of their own, all of them before the answer is read.
    pub(crate) fn send_raw(&self, request: &[u8]) -> Answer {
        let mut connection = TcpStream::connect(self.url.trim_start_matches("http://")).unwrap();
        connection.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        // A server may refuse before all is sent: what counts is that its answer can be read.
        let _ = connection.write_all(request);
        let mut answer = BufReader::new(connection);
        let mut line = || {
            let mut line = String::new();
            answer.read_line(&mut line).unwrap();
            line.trim_end().to_owned()
        };
        let status = line().split(' ').nth(1).expect("an answer").parse().unwrap();
        let lines = std::iter::from_fn(|| Some(line()).filter(|line| !line.is_empty()));
        let header =
            |line: String| line.split_once(": ").map(|(name, value)| (name.parse().unwrap(), value.parse().unwrap()));
        let headers: HeaderMap = lines.map(|line| header(line).expect("a header")).collect();
        let length =
            headers.get(reqwest::header::CONTENT_LENGTH).map_or(0, |length| length.to_str().unwrap().parse().unwrap());
        let mut body = Vec::new();
        if !request.starts_with(b"HEAD ") {
            answer.take(length).read_to_end(&mut body).unwrap();
        }
        let line = request.split(|byte| *byte == b'\r').next().map(String::from_utf8_lossy).unwrap_or_default();
        let mut words = line.split(' ');
        let (method, target) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
        let path = target.split('?').next().unwrap_or_default();
        contract::check_answer(method, path, StatusCode::as_u16(&status), &headers, &body);
        Answer { status, headers, body }
    }

    pub(crate) async fn get(&self, user: &User, path: &str) -> Answer {
        self.call(user, Method::GET, path).await
    }

    pub(crate) async fn register(&self, body: Value) -> Answer {
        self.send(self.request(Method::POST, "/api/auth/register").json(&body)).await
    }

    pub(crate) async fn login(&self, identifier: &str, password: &str) -> Answer {
        let body = json!({ "identifier": identifier, "password": password });
        self.send(self.request(Method::POST, "/api/auth/login").json(&body)).await
    }

    /// Logs an existing account in.
    pub(crate) async fn log_in(&self, name: &str) -> User {
        let token = self.login(name, PASSWORD).await.expect(200).json()["token"].as_str().unwrap().to_owned();
        let mut user = User { id: String::new(), name: name.to_owned(), token };
        user.id = self.get(&user, "/api/users/me").await.expect(200).data()["id"].as_str().unwrap().to_owned();
        user
    }

    /// Registers an account and logs it in.
    pub(crate) async fn user(&self, name: &str) -> User {
        let email = format!("{name}@example.org");
        self.register(json!({ "username": name, "email": email, "password": PASSWORD })).await.expect(201);
        self.log_in(name).await
    }

    /// The administrator that is there from the start.
    pub(crate) async fn root(&self) -> User {
        self.log_in("root").await
    }

    /// Publishes a text; the id of the post.
    pub(crate) async fn post(&self, author: &User, text: &str, visibility: &str) -> String {
        let body = json!({ "text": text, "visibility": visibility });
        let answer = self.call_json(author, Method::POST, "/api/posts/create", body).await.expect(201);
        answer.data()["id"].as_str().unwrap().to_owned()
    }

    /// Makes `follower` follow `followed`.
    pub(crate) async fn follow(&self, follower: &User, followed: &User) {
        self.call(follower, Method::PUT, &format!("/api/follow/follow/{}", followed.id)).await.expect(200);
    }

    /// Gives an account a role (`ADD`) or takes it away (`REMOVE`).
    pub(crate) async fn change_role(&self, admin: &User, user: &User, action: &str, role: &str) -> Answer {
        let path = format!("/api/users/update/{}", user.id);
        self.call_json(admin, Method::PUT, &path, json!({ "roleId": role, "action": action })).await
    }

    /// Adds a product, these fields in place of those of an ordinary one; the product as it was answered.
    pub(crate) async fn product(&self, admin: &User, fields: Value) -> Value {
        let mut body = json!({ "sku": "MUG-1", "name": "Mug", "price": 19.9, "category": "Kitchen", "stock": 3 });
        body.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
        self.call_json(admin, Method::POST, "/api/products", body).await.expect(201).json()["product"].clone()
    }

    /// All entries of a list, page by page.
    pub(crate) async fn walk(&self, user: &User, path: &str, entries: &str) -> Vec<Value> {
        let mut all = Vec::new();
        let mut next = Some(path.to_owned());
        while let Some(path) = next {
            let answer = self.get(user, &path).await.expect(200);
            all.extend(answer.json()[entries].as_array().unwrap().iter().cloned());
            next = answer.next();
        }
        all
    }
}
