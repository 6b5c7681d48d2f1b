// The modules of the suite, which each test binary includes in its root.

#[path = "../end_to_end/access_log.rs"]
mod access_log;
#[path = "../end_to_end/administrators.rs"]
mod administrators;
#[path = "../end_to_end_scaled/bucket_away.rs"]
mod bucket_away;
#[path = "../end_to_end/catalog.rs"]
mod catalog;
#[path = "../support/client.rs"]
mod client;
#[path = "../end_to_end/configuration.rs"]
mod configuration;
#[path = "../end_to_end/connection.rs"]
mod connection;
#[path = "../end_to_end/crash.rs"]
mod crash;
#[path = "../end_to_end/crash_changes.rs"]
mod crash_changes;
#[path = "../end_to_end/doctor.rs"]
mod doctor;
#[path = "../end_to_end/first_start.rs"]
mod first_start;
#[path = "../end_to_end_scaled/lanes.rs"]
mod lanes;
#[path = "../end_to_end/life.rs"]
mod life;
#[path = "../end_to_end/mail.rs"]
mod mail;
#[path = "../end_to_end/manual.rs"]
mod manual;
#[path = "../end_to_end/media.rs"]
mod media;
#[path = "../end_to_end/migrations.rs"]
mod migrations;
#[path = "../end_to_end/operator.rs"]
mod operator;
#[path = "../end_to_end/parallel.rs"]
mod parallel;
#[path = "../support/picture.rs"]
mod picture;
#[path = "../support/port.rs"]
mod port;
#[path = "../support/postgres.rs"]
mod private_postgres;
#[path = "../support/s3.rs"]
mod private_s3;
#[path = "../support/process.rs"]
mod process;
#[path = "../support/python.rs"]
mod python;
#[path = "../end_to_end/retries.rs"]
mod retries;
#[path = "../end_to_end/rotation.rs"]
mod rotation;
#[path = "../end_to_end/secrecy.rs"]
mod secrecy;
#[path = "../end_to_end/shutdown.rs"]
mod shutdown;
#[path = "../support/smtp.rs"]
mod smtp;
#[path = "../end_to_end/times.rs"]
mod times;
#[path = "../end_to_end/tour.rs"]
mod tour;
#[path = "../support/world.rs"]
mod world;

/// An empty database on the shared PostgreSQL server, and a bucket on a private S3 server.
mod backend {
    use std::path::{Path, PathBuf};

    use crate::private_postgres;
    use crate::private_s3::{S3Server, SECRET_KEY};

    const BUCKET: &str = "agora";

    pub(crate) struct Backend {
        database: String,
        database_url: String,
        pub(crate) s3: S3Server,
    }

    impl Backend {
        /// SQL expressions of the present instant, and of one long ago.
        pub(crate) const NOW: &str = "now()";
        pub(crate) const LONG_AGO: &str = "'epoch'";

        pub(crate) fn new() -> Self {
            let s3 = S3Server::start();
            s3.make_bucket(BUCKET);
            let (database, database_url) = private_postgres::fresh_database_by_name();
            Self { database, database_url: format!("{database_url}{}", crate::URL_PARAMETERS), s3 }
        }

        /// Runs a statement on the database of a service, over a connection of its own.
        pub(crate) fn sql(&self, _: &Path, statement: &str) {
            private_postgres::shared().session(&self.database).run(&format!("{statement};"));
        }

        /// Returns the environment variables that configure the binary for this backend.
        pub(crate) fn variables(&self) -> Vec<(String, String)> {
            let urls = [
                ("AGORA_DATABASE_URL", &*self.database_url),
                ("AGORA_DATABASE_FLAVOR", crate::FLAVOR),
                ("AGORA_MEDIA_URL", "s3://agora/images"),
            ];
            let urls = urls.map(|(name, value)| (name.to_owned(), value.to_owned()));
            urls.into_iter().chain(self.s3.variables()).collect()
        }

        /// Returns the directory of the stored images. It does not depend on the data directory.
        pub(crate) fn images(&self, _: &Path) -> PathBuf {
            self.s3.bucket(BUCKET).join("images")
        }

        /// Returns the secrets that must not appear in any log.
        pub(crate) fn secrets(&self) -> Vec<&'static str> {
            vec![SECRET_KEY]
        }
    }
}
