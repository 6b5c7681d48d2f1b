//! A private S3 server with real HTTP and real signatures, which stores objects as files in a temporary directory. It can be
//! stopped and restarted at the same address.

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

/// The secret key with which requests are signed.
pub(crate) const SECRET_KEY: &str = "the key to all the buckets";

/// The behaviour of the server.
#[derive(Clone, Copy)]
enum Mode {
    Serving,
    /// Connections are refused.
    Closed,
    /// Connections are accepted and never answered.
    Silent,
}

/// A running server. It is stopped, and its objects are removed, when it is dropped.
pub(crate) struct S3Server {
    endpoint: String,
    directory: TempDir,
    orders: UnboundedSender<(Mode, Sender<()>)>,
}

impl S3Server {
    /// Starts a server on a free port.
    pub(crate) fn start() -> Self {
        let directory = tempfile::tempdir().expect("a directory");
        let mut service = S3ServiceBuilder::new(FileSystem::new(directory.path()).expect("a file system"));
        service.set_auth(SimpleAuth::from_single(ACCESS_KEY, SECRET_KEY));
        let service = service.build();
        let port = Port::new();
        let endpoint = format!("http://{}", port.address());
        let (orders, received) = unbounded_channel();
        // On a thread with a runtime of its own, so that it serves tests with any runtime or none, and ends with them.
        thread::spawn(move || Runtime::new().expect("a runtime").block_on(execute_orders(received, port, service)));
        let server = Self { endpoint, directory, orders };
        server.set_mode(Mode::Serving);
        server
    }

    /// Stops the server: open connections are closed, and new ones are refused.
    pub(crate) fn close(&self) {
        self.set_mode(Mode::Closed);
    }

    /// Accepts connections from now on, but never responds.
    pub(crate) fn hang(&self) {
        self.set_mode(Mode::Silent);
    }

    /// Serves again, at the same address.
    pub(crate) fn recover(&self) {
        self.set_mode(Mode::Serving);
    }

    fn set_mode(&self, mode: Mode) {
        let (done, is_done) = channel();
        self.orders.send((mode, done)).expect("the server runs");
        is_done.recv().expect("the server runs");
    }

    /// Creates a bucket.
    pub(crate) fn make_bucket(&self, name: &str) {
        fs::create_dir(self.bucket(name)).expect("a bucket");
    }

    /// Returns the directory of a bucket, in which each object is a file named by its key.
    pub(crate) fn bucket(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// Returns the environment variables for this server.
    pub(crate) fn variables(&self) -> Vec<(String, String)> {
        let variables = [
            ("AWS_ENDPOINT_URL", self.endpoint.clone()),
            ("AWS_ACCESS_KEY_ID", ACCESS_KEY.to_owned()),
            ("AWS_SECRET_ACCESS_KEY", SECRET_KEY.to_owned()),
        ];
        variables.map(|(name, value)| (name.to_owned(), value)).into()
    }
}

/// Executes orders until all senders are dropped.
async fn execute_orders(mut orders: UnboundedReceiver<(Mode, Sender<()>)>, port: Port, service: S3Service) {
    let mut tasks = JoinSet::new();
    while let Some((mode, done)) = orders.recv().await {
        // This drops the task's connections as well, and closes the port.
        tasks.shutdown().await;
        match mode {
            Mode::Serving => {
                tasks.spawn(serve(port.open(), service.clone()));
            }
            Mode::Silent => {
                tasks.spawn(accept_silently(port.open()));
            }
            Mode::Closed => {}
        }
        // The sender of the order may have given up waiting.
        let _ = done.send(());
    }
}

async fn serve(port: Open, service: S3Service) {
    let mut connections = JoinSet::new();
    loop {
        let stream = port.accept().await.expect("a connection");
        let service = service.clone();
        connections.spawn(async move {
            // A client may disconnect.
            let _ = Builder::new(TokioExecutor::new()).serve_connection(TokioIo::new(stream), service).await;
        });
        while connections.try_join_next().is_some() {}
    }
}

async fn accept_silently(port: Open) {
    let mut kept = Vec::new();
    loop {
        kept.push(port.accept().await.expect("a connection"));
    }
}
