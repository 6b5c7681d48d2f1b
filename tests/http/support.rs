//! The server of a test. It dereferences to its [`Client`], and adds what only these tests need.

use std::io;
use std::io::Write as _;
use std::net::TcpStream;
use std::ops::Deref;
use std::sync::Arc;

use agora_config::{Config, Values};
use agora_domain::clock::Clock;
use agora_domain::deletion::DeletionRepository;
use agora_operations::open;
use agora_operations::system::SystemClock;
use agora_server::app::App;
use agora_server::shown_settings;
use reqwest::Method;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::client::{Client, HANG, eventually, text};
pub(crate) use crate::client::{PASSWORD, PUBLIC_URL, Response, User};
use crate::contract;

/// A running server. It stops with the test's runtime.
pub(crate) struct Server {
    client: Client,
    config: Config,
    _data_dir: TempDir,
}

impl Deref for Server {
    type Target = Client;

    fn deref(&self) -> &Client {
        &self.client
    }
}

impl Server {
    pub(crate) async fn start() -> Self {
        Self::start_with(|_| ()).await
    }

    /// Starts a server with cheap password hashes, an administrator `root` and images in memory. `change` adjusts its settings.
    pub(crate) async fn start_with(change: impl FnOnce(&mut Config)) -> Self {
        Self::start_with_clock(None, change).await
    }

    /// Does the same with this clock instead of the system's, if there is one.
    pub(crate) async fn start_with_clock(clock: Option<Arc<dyn Clock>>, change: impl FnOnce(&mut Config)) -> Self {
        let data_dir = tempfile::tempdir().unwrap();
        let mut config = Config::from_variables(|_| None).unwrap();
        config.listen = "127.0.0.1:0".to_owned();
        config.data_dir = data_dir.path().join("data");
        config.media_url = Some("memory:".to_owned());
        config.public_url = Some(PUBLIC_URL.to_owned());
        config.bcrypt_cost = 4;
        config.workers = 1;
        config.admin_username = Some("root".to_owned());
        config.admin_email = Some("root@example.org".to_owned());
        config.admin_password = Some(PASSWORD.to_owned().into());
        change(&mut config);
        let settings = shown_settings(&Values::new(|_| Err(io::Error::other("no secret is in a file of its own"))));
        let app = App::start(clock.unwrap_or_else(|| Arc::new(SystemClock)), &config, settings).await.unwrap();
        let client = Client::new(&format!("http://{}", app.address)).checking(contract::check);
        tokio::spawn(app.run());
        Self { client, config, _data_dir: data_dir }
    }

    /// Waits until the data of all deleted accounts is erased.
    pub(crate) async fn wait_for_erasure(&self) {
        let database = open::existing_database(&self.config).await.unwrap();
        eventually("the end of deleted accounts", async || match database.next_unerased().await.unwrap() {
            None => Some(()),
            Some(_) => None,
        })
        .await;
    }

    /// Sends raw bytes on a new connection, all of them before it reads the response.
    pub(crate) fn send_raw(&self, request: &[u8]) -> Response {
        let mut connection = TcpStream::connect(self.url().trim_start_matches("http://")).unwrap();
        connection.set_read_timeout(Some(HANG)).unwrap();
        // A server may refuse before everything is sent. What matters is that its response can be read.
        let _ = connection.write_all(request);
        let line = String::from_utf8_lossy(request.split(|byte| *byte == b'\r').next().unwrap_or_default());
        let (method, target) = line.split_once(' ').unwrap_or((&line, ""));
        let response = Response::read(&mut connection, &mut Vec::new(), method).unwrap();
        contract::check_answer(method, target.split([' ', '?']).next().unwrap_or_default(), &response);
        response
    }

    /// Registers an account with this body.
    pub(crate) async fn register_as(&self, body: Value) -> Response {
        self.post_json("/api/auth/register", &body).await
    }

    /// Logs in the administrator that exists from the start.
    pub(crate) async fn root(&self) -> User {
        self.log_in("root").await
    }

    /// Publishes a text. Returns the id of the post.
    pub(crate) async fn publish(&self, author: &User, content: &str, visibility: &str) -> String {
        let body = json!({ "text": content, "visibility": visibility });
        text(&self.call_json(author, Method::POST, "/api/posts/create", body).await.expect(201).data()["id"])
    }

    /// Makes `follower` follow `followed`.
    pub(crate) async fn follow(&self, follower: &User, followed: &User) {
        self.call(follower, Method::PUT, &format!("/api/follow/follow/{}", followed.id)).await.expect(200);
    }
}
