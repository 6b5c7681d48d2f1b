//! A private S3 server: real HTTP, real signatures, its objects as files in a directory of its own. It can go away
//! and come back at the same address.

#![allow(dead_code, reason = "each suite uses a part")]

use std::path::PathBuf;
use std::sync::mpsc::{Sender, channel};
use std::{fs, thread};

use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto::Builder;
use s3s::{
    auth::SimpleAuth,
    service::{S3Service, S3ServiceBuilder},
};
use s3s_fs::FileSystem;
use tempfile::TempDir;
use tokio::runtime::Runtime;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::task::JoinSet;

use super::port::{Open, Port};

const ACCESS_KEY: &str = "agora";

/// What requests are signed with.
pub(crate) const SECRET_KEY: &str = "the key to all the buckets";

/// How the server behaves.
#[derive(Clone, Copy)]
enum Mode {
    Serving,
    /// Connections are refused.
    Closed,
    /// Connections are accepted and never answered.
    Silent,
}

/// A running server. It ends, and its objects go, when it is dropped.
pub(crate) struct S3Server {
    endpoint: String,
    directory: TempDir,
    orders: UnboundedSender<(Mode, Sender<()>)>,
}

impl S3Server {
    /// Starts it on a free port.
    pub(crate) fn start() -> Self {
        let directory = tempfile::tempdir().expect("a directory");
        let mut service = S3ServiceBuilder::new(FileSystem::new(directory.path()).expect("a file system"));
        service.set_auth(SimpleAuth::from_single(ACCESS_KEY, SECRET_KEY));
        let service = service.build();
        let port = Port::new();
        let endpoint = format!("http://{}", port.address());
        let (orders, received) = unbounded_channel();
        // On a thread of its own, so that it serves tests of every kind and ends when they do.
        thread::spawn(move || Runtime::new().expect("a runtime").block_on(obey(received, port, service)));
        let server = Self { endpoint, directory, orders };
        server.turn(Mode::Serving);
        server
    }

    /// Goes away: what is in flight is cut, and connections are refused.
    pub(crate) fn close(&self) {
        self.turn(Mode::Closed);
    }

    /// Accepts connections from now on and answers none.
    pub(crate) fn fall_silent(&self) {
        self.turn(Mode::Silent);
    }

    /// Serves again, at the same address.
    pub(crate) fn come_back(&self) {
        self.turn(Mode::Serving);
    }

    fn turn(&self, mode: Mode) {
        let (done, is_done) = channel();
        self.orders.send((mode, done)).expect("the server runs");
        is_done.recv().expect("the server runs");
    }

    /// Makes a bucket.
    pub(crate) fn make_bucket(&self, name: &str) {
        fs::create_dir(self.bucket(name)).expect("a bucket");
    }

    /// The directory of a bucket, in which each object is the file of its key.
    pub(crate) fn bucket(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// The variables that lead to it.
    pub(crate) fn variables(&self) -> Vec<(String, String)> {
        let variables = [
            ("AWS_ENDPOINT_URL", self.endpoint.clone()),
            ("AWS_ACCESS_KEY_ID", ACCESS_KEY.to_owned()),
            ("AWS_SECRET_ACCESS_KEY", SECRET_KEY.to_owned()),
        ];
        variables.map(|(name, value)| (name.to_owned(), value)).into()
    }
}

/// Takes orders until there is nobody left to give any.
async fn obey(mut orders: UnboundedReceiver<(Mode, Sender<()>)>, port: Port, service: S3Service) {
    let mut tasks = JoinSet::new();
    while let Some((mode, done)) = orders.recv().await {
        // With the task go its connections, and the port is closed.
        tasks.shutdown().await;
        match mode {
            Mode::Serving => {
                tasks.spawn(serve(port.open(), service.clone()));
            }
            Mode::Silent => {
                tasks.spawn(keep(port.open()));
            }
            Mode::Closed => {}
        }
        // Whoever gave the order may have given up on it.
        let _ = done.send(());
    }
}

async fn serve(port: Open, service: S3Service) {
    let mut connections = JoinSet::new();
    loop {
        let stream = port.accept().await.expect("a connection");
        let service = service.clone();
        connections.spawn(async move {
            // A client may break off.
            let _ = Builder::new(TokioExecutor::new()).serve_connection(TokioIo::new(stream), service).await;
        });
        while connections.try_join_next().is_some() {}
    }
}

async fn keep(port: Open) {
    let mut kept = Vec::new();
    loop {
        kept.push(port.accept().await.expect("a connection"));
    }
}
