//! SeaweedFS, which stores each image on two of three volume servers: a master, the volume servers, and a filer with an S3 API.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use serde_json::json;
use tempfile::TempDir;
use tokio::net::TcpStream;

use crate::client::{Client, eventually};
use crate::process::{Process, run};

const MASTER: &str = "127.0.0.1:19333";
const FILER: &str = "127.0.0.1:18888";
const S3: &str = "127.0.0.1:18333";
const BUCKET: &str = "agora";
const KEY: &str = "agora";
const SECRET: &str = "the secret of a test";

/// A running object store. It is stopped, and its data are removed, when this is dropped.
pub(crate) struct Store {
    directory: TempDir,
    volumes: Vec<Option<Process>>,
    _others: Vec<Process>,
}

impl Store {
    pub(crate) async fn start() -> Self {
        let mut store = Self { directory: tempfile::tempdir().unwrap(), volumes: Vec::new(), _others: Vec::new() };
        let directory = store.directory.path().to_owned();
        let credentials = json!([{ "accessKey": KEY, "secretKey": SECRET }]);
        let actions = ["Admin", "Read", "Write", "List", "Tagging"];
        let identities = json!({ "identities": [{ "name": KEY, "credentials": credentials, "actions": actions }] });
        fs::write(directory.join("s3.json"), identities.to_string()).unwrap();
        for part in ["master", "filer", "volume-0", "volume-1", "volume-2"] {
            fs::create_dir(directory.join(part)).unwrap();
        }
        let mut master = store.weed("master");
        master.args(["-port=19333", "-mdir=master", "-defaultReplication=001", "-volumeSizeLimitMB=64"]);
        store._others.push(Process::spawn(master, ""));
        listens(MASTER).await;
        for volume in 0..3 {
            store.volumes.push(None);
            store.start_volume(volume);
        }
        let master = Client::new(&format!("http://{MASTER}"));
        eventually("the volume servers are known", async || {
            (master.fetch("/dir/assign").await.json()["fid"].is_string()).then_some(())
        })
        .await;
        let mut filer = store.weed("filer");
        filer.args(["-port=18888", "-master=127.0.0.1:19333", "-defaultStoreDir=filer", "-s3", "-s3.port=18333"]);
        filer.arg("-s3.config=s3.json");
        store._others.push(Process::spawn(filer, ""));
        listens(S3).await;
        let mut shell = Command::new(program());
        shell.arg("shell").arg(format!("-master={MASTER}")).arg(format!("-filer={FILER}")).current_dir(&directory);
        run(shell, &format!("s3.bucket.create -name {BUCKET}\nexit\n")).expect_success();
        store
    }

    /// Starts a volume server, with the data that it had before.
    pub(crate) fn start_volume(&mut self, volume: usize) {
        let mut command = self.weed("volume");
        command.arg(format!("-port={}", 18_200 + volume)).arg(format!("-dir=volume-{volume}"));
        command.arg(format!("-master={MASTER}")).arg("-max=30");
        self.volumes[volume] = Some(Process::spawn(command, ""));
    }

    /// Kills a volume server, as a crash would.
    pub(crate) fn kill_volume(&mut self, volume: usize) {
        self.volumes[volume] = None;
    }

    /// Returns the environment variables with which the service stores its images here.
    pub(crate) fn variables() -> [(&'static str, String); 5] {
        [
            ("AGORA_MEDIA_URL", format!("s3://{BUCKET}/images")),
            ("AWS_ENDPOINT_URL_S3", format!("http://{S3}")),
            ("AWS_REGION", "us-east-1".to_owned()),
            ("AWS_ACCESS_KEY_ID", KEY.to_owned()),
            ("AWS_SECRET_ACCESS_KEY", SECRET.to_owned()),
        ]
    }

    fn weed(&self, part: &str) -> Command {
        let mut command = Command::new(program());
        command.args(["-logtostderr=true", part, "-ip=127.0.0.1"]).current_dir(self.directory.path());
        command
    }
}

/// Returns the path of the program, which `scripts/cluster` installs.
fn program() -> PathBuf {
    std::env::var_os("AGORA_CLUSTER_WEED").map_or_else(|| "weed".into(), PathBuf::from)
}

async fn listens(address: &str) {
    eventually(address, async || TcpStream::connect(address).await.ok()).await;
}
