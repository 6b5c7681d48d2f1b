use std::path::PathBuf;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;
use std::thread;
use std::time::Duration;

use agora_domain::Error;
use diesel::connection::SimpleConnection;
use diesel::{Connection, SqliteConnection};
use tempfile::TempDir;

use crate::error::Outcome;
use crate::sqlite::Sqlite;
use crate::version::Opening;

struct Fresh {
    directory: TempDir,
    sqlite: Sqlite,
}

impl Fresh {
    fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let sqlite = Sqlite::open(Opening::Serve, &directory.path().join("agora.db"), 2).unwrap();
        Self { directory, sqlite }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// Adds this many MiB to the log, one after the other, and next to nothing to the database.
    async fn write_mebibytes(&self, count: usize) {
        for _ in 0..count {
            let write = "CREATE TABLE IF NOT EXISTS filler (id INTEGER PRIMARY KEY, content BLOB);
                         REPLACE INTO filler VALUES (1, randomblob(1 << 20))";
            self.sqlite.write(|conn| Ok(conn.batch_execute(write)?)).await.unwrap();
        }
    }

    fn log_mebibytes(&self) -> u64 {
        self.path("agora.db-wal").metadata().unwrap().len() >> 20
    }

    fn reader(&self) -> SqliteConnection {
        SqliteConnection::establish(self.path("agora.db").to_str().unwrap()).unwrap()
    }
}

fn begin(reader: &mut SqliteConnection) {
    reader.batch_execute("BEGIN; SELECT count(*) FROM users").unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn the_log_stays_short_while_reads_overlap() {
    let fresh = Fresh::new();
    let mut readers = [fresh.reader(), fresh.reader()];
    begin(&mut readers[0]);
    let writing = AtomicBool::new(true);
    let reading = || {
        let [one, other] = &mut readers;
        let (mut ends, mut begins) = (one, other);
        while writing.load(Relaxed) {
            begin(begins);
            // Longer than a commit takes, so that the log is not free of readers after any of them.
            thread::sleep(Duration::from_millis(25));
            ends.batch_execute("COMMIT").unwrap();
            std::mem::swap(&mut ends, &mut begins);
        }
    };
    let runtime = tokio::runtime::Handle::current();
    thread::scope(|scope| {
        scope.spawn(reading);
        tokio::task::block_in_place(|| runtime.block_on(fresh.write_mebibytes(120)));
        writing.store(false, Relaxed);
    });
    assert!(fresh.log_mebibytes() <= 66, "{} MiB", fresh.log_mebibytes());
}

#[tokio::test(flavor = "multi_thread")]
async fn the_log_is_not_emptied_before_a_long_read_ends() {
    let fresh = Fresh::new();
    let mut reader = fresh.reader();
    begin(&mut reader);
    fresh.write_mebibytes(90).await;
    assert!(fresh.log_mebibytes() >= 90, "{} MiB", fresh.log_mebibytes());
    reader.batch_execute("COMMIT").unwrap();
    fresh.write_mebibytes(20).await;
    assert!(fresh.log_mebibytes() <= 64, "{} MiB", fresh.log_mebibytes());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_log_that_has_used_up_all_space_is_restarted() {
    let fresh = Fresh::new();
    fresh.write_mebibytes(8).await;
    // SQLite's own limit on the size of the file stands in for a full disk.
    let full = fresh.sqlite.write(|conn: &mut SqliteConnection| -> Outcome<()> {
        conn.batch_execute("PRAGMA max_page_count = 1")?;
        Ok(conn.batch_execute("CREATE TABLE other AS SELECT zeroblob(3000000) AS content")?)
    });
    assert!(matches!(full.await, Err(Error::Unavailable(_))));
    let before = fresh.log_mebibytes();
    let unlimited = "PRAGMA max_page_count = 1000000";
    fresh.sqlite.write(|conn| Ok(conn.batch_execute(unlimited)?)).await.unwrap();
    fresh.write_mebibytes(6).await;
    assert_eq!(fresh.log_mebibytes(), before);
}
