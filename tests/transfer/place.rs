//! Deployments: databases and image stores for a service.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use url::Url;

use crate::process::{Finished, Home, Service, run};
use crate::world::World;

/// A database and an image store. A home may have several deployments, one after the other, with the same signing secret.
#[derive(Debug, Clone)]
pub(crate) struct Deployment {
    pub(crate) database: String,
    pub(crate) media: String,
    /// The directory in which its images are files.
    pub(crate) directory: PathBuf,
}

impl Deployment {
    /// Creates a deployment with a new SQLite database and a new directory of images.
    pub(crate) fn embedded(home: &Home, name: &str) -> Self {
        let directory = home.path(name);
        fs::create_dir_all(directory.join("media")).unwrap();
        Self::at(format!("sqlite:{}", directory.join("agora.db").display()), directory.join("media"))
    }

    /// Creates a deployment with this database and this directory of images.
    pub(crate) fn at(database: String, directory: PathBuf) -> Self {
        let media = Url::from_directory_path(&directory).unwrap().into();
        Self { database, media, directory }
    }

    /// Creates a deployment with a new PostgreSQL database and a new bucket of images.
    pub(crate) fn scaled(home: &Home, name: &str) -> Self {
        let bucket = format!("bucket-{name}");
        home.backend.s3.make_bucket(&bucket);
        let directory = home.backend.s3.bucket(&bucket).join("images");
        let database = crate::private_postgres::fresh_database();
        Self { database, media: format!("s3://{bucket}/images"), directory }
    }

    /// Returns the environment variables of a service.
    fn variables(&self) -> [(&str, &str); 2] {
        [("AGORA_DATABASE_URL", &self.database), ("AGORA_MEDIA_URL", &self.media)]
    }

    /// Starts a service on it, with an administrator `root`.
    pub(crate) fn start(&self, home: &Home) -> Service {
        let root = [
            ("AGORA_ADMIN_USERNAME", "root"),
            ("AGORA_ADMIN_EMAIL", "root@example.org"),
            ("AGORA_ADMIN_PASSWORD", crate::client::PASSWORD),
        ];
        home.start_with(&[self.variables().as_slice(), &root].concat())
    }

    /// Fills it with a small network. Returns that, and a snapshot of what its users see.
    pub(crate) async fn settle(&self, home: &Home) -> (World, Vec<String>) {
        let service = self.start(home);
        let world = World::make(&service.api).await;
        let snapshot = world.snapshot(&service.api).await;
        service.stop();
        (world, snapshot)
    }

    /// Checks that a service on it returns the same as in the snapshot, and accepts the tokens that were issued there.
    pub(crate) async fn expect(&self, home: &Home, world: &World, snapshot: &[String]) {
        let service = self.start(home);
        assert_eq!(world.snapshot(&service.api).await, snapshot);
        world.expect_image(&service.api).await;
        service.stop();
    }

    /// Checks that it has no data.
    pub(crate) async fn expect_empty(&self, home: &Home) {
        let service = self.start(home);
        let root = service.api.log_in("root").await;
        let users = service.api.get(&root, "/api/users/all").await.expect(200).data();
        assert_eq!(crate::client::list(&users).len(), 1, "{users}");
        service.stop();
    }

    /// Returns a command with these arguments and the settings of the deployment.
    pub(crate) fn command(&self, home: &Home, arguments: &[&str]) -> Command {
        let mut command = home.agora(arguments);
        command.envs(self.variables());
        command
    }

    pub(crate) fn run(&self, home: &Home, arguments: &[&str]) -> Finished {
        run(self.command(home, arguments), "")
    }
}

/// Returns the arguments that copy everything from one deployment to another.
pub(crate) fn copying<'a>(from: &'a Deployment, to: &'a Deployment) -> Vec<&'a str> {
    vec!["copy", "--from", &from.database, "--to", &to.database, "--media-from", &from.media, "--media-to", &to.media]
}

/// Returns the paths of the files below a directory.
pub(crate) fn files(directory: &Path) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let mut left = vec![directory.to_owned()];
    while let Some(next) = left.pop() {
        for entry in fs::read_dir(next).into_iter().flatten().map(Result::unwrap) {
            match entry.file_type().unwrap().is_dir() {
                true => left.push(entry.path()),
                false => drop(found.insert(entry.path().display().to_string())),
            }
        }
    }
    found
}
