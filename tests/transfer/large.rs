//! Copies and backups of tens of thousands of posts.

use std::fmt::Write as _;
use std::process::Command;

use agora_database::{Database, Options, Rows, Table};
use serde_json::Value;
use uuid::Uuid;

use crate::place::{Deployment, files};
use crate::process::{AGORA, Finished, Home, Process, run};

const USERS: usize = 1_000;
const BATCH: usize = 1_000;

/// Returns the line of the nth row.
type Line<'a> = &'a dyn Fn(usize) -> String;

/// Fills a database with posts, each with two likes and a comment.
async fn fill(url: &str, posts: usize) {
    let database = Database::open(url, &Options::default()).await.unwrap();
    let mut load = database.load().await.unwrap();
    let id = |kind: u128, n: usize| Uuid::from_u128((kind << 96) | u128::try_from(n).unwrap());
    let (user, post) = (|n: usize| id(1, n % USERS), |n: usize| id(2, n));
    let users = |n: usize| {
        let id = user(n);
        format!(
            r#"{{"id":"{id}","username":"u{n}","username_key":"u{n}","email":"u{n}@e.org","email_key":"u{n}@e.org","password_hash":"x","biography":null,"profile_picture":null,"is_admin":false,"is_user":true,"enabled":true,"created_at":{n},"display_name":null,"discoverable":true,"searchable":true,"hide_counts":false,"email_verified":false}}"#
        )
    };
    let posts_of = |n: usize| {
        let content = "Words and more words. ".repeat(n % 20);
        format!(
            r#"{{"id":"{}","author_id":"{}","content":"{n} {content}","image":null,"visibility":{},"created_at":{n},"updated_at":{n},"like_count":2,"comment_count":1}}"#,
            post(n),
            user(n),
            n % 3
        )
    };
    let likes = |n: usize| {
        let (post, user) = (post(n / 2), user(n));
        format!(r#"{{"post_id":"{post}","user_id":"{user}","id":"{}","created_at":{n}}}"#, id(3, n))
    };
    let comments = |n: usize| {
        let (id, post, author) = (id(4, n), post(n), user(n + 7));
        format!(
            r#"{{"id":"{id}","post_id":"{post}","author_id":"{author}","content":"Comment {n}","created_at":{n},"updated_at":{n},"parent_id":null,"reply_to_id":null,"reply_count":0,"like_count":0,"is_hidden":false}}"#
        )
    };
    let tables: [(Table, usize, Line<'_>); 4] = [
        (Table::Users, USERS, &users),
        (Table::Posts, posts, &posts_of),
        (Table::Likes, 2 * posts, &likes),
        (Table::Comments, posts, &comments),
    ];
    for (table, count, line) in tables {
        for first in (0..count).step_by(BATCH) {
            let mut text = String::new();
            for n in first..count.min(first + BATCH) {
                writeln!(text, "{}", line(n)).unwrap();
            }
            load.insert(Rows::from_lines(table, &text).unwrap()).await.unwrap();
        }
    }
    load.commit().await.unwrap();
}

/// Runs a command that must succeed; returns its output and its peak memory.
fn succeeded(command: Command) -> (Finished, u64) {
    let (finished, peak) = measured(command);
    (finished.expect_success(), peak)
}

/// Runs a command; returns how it ended, and its peak private memory.
pub(crate) fn measured(command: Command) -> (Finished, u64) {
    let mut process = Process::spawn(command, "");
    let mut peak = 0;
    while !process.has_ended() {
        peak = process.own_memory().unwrap_or(0).max(peak);
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    (process.finish(), peak)
}

/// Returns the lines of a report with a table, its number of rows and their checksum.
fn sums(report: &str) -> Vec<&str> {
    report.lines().filter(|line| line.contains("sha256")).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn many_posts_are_copied_to_postgresql_and_back_in_constant_memory() {
    let home = Home::new();
    let copy = |from: &str, to: &str| home.agora(&["copy", "--from", from, "--to", to]);
    let few = Deployment::embedded(&home, "few").database;
    fill(&few, 5_000).await;
    let (_, memory_for_few) = succeeded(copy(&few, &Deployment::scaled(&home, "few").database));

    let (first, second) = (Deployment::embedded(&home, "first"), Deployment::scaled(&home, "second"));
    let third = Deployment::embedded(&home, "third");
    fill(&first.database, 30_000).await;
    let (there, memory_there) = succeeded(copy(&first.database, &second.database));
    let (back, memory_back) = succeeded(copy(&second.database, &third.database));
    assert!(there.stdout.contains("Copied 121000 rows"), "{there:?}");
    assert_eq!(sums(&there.stdout).len(), Table::ALL.len());
    assert_eq!(sums(&there.stdout), sums(&back.stdout));
    // Six times the posts need hardly more memory.
    for memory in [memory_there, memory_back] {
        assert!(memory < memory_for_few + (24 << 20), "{memory} bytes, and {memory_for_few} for a few posts");
    }

    // The backups of all three are the same except for the time in the header.
    let exports = [(&first, "first.tar"), (&second, "second.tar"), (&third, "third.tar")].map(|(place, name)| {
        let (_, memory) = succeeded(place.command(&home, &["backup", name]));
        assert!(memory < memory_for_few + (24 << 20), "{memory} bytes, and {memory_for_few} for a few posts");
        content(&home, name)
    });
    assert_eq!(exports[0], exports[1]);
    assert_eq!(exports[0], exports[2]);
}

/// Returns the names of the entries of an archive, without the first, which has the time of the backup, and the summary with the
/// checksums of all rows.
fn content(home: &Home, name: &str) -> (Vec<String>, Value) {
    let mut archive = tar::Archive::new(std::fs::File::open(home.path(name)).unwrap());
    let mut names = Vec::new();
    let mut summary = Value::Null;
    for entry in archive.entries().unwrap().skip(1).map(Result::unwrap) {
        names.push(entry.path().unwrap().display().to_string());
        if names.last().is_some_and(|name| name == "summary.json") {
            summary = serde_json::from_reader(entry).unwrap();
        }
    }
    assert_eq!(names.iter().filter(|name| name.starts_with("rows/posts-")).count(), 60);
    (names, summary)
}

#[test]
fn images_are_copied_to_a_bucket_and_back_in_bounded_memory() {
    const IMAGES: usize = 60;
    const BYTES: usize = 5 << 20;
    let home = Home::new();
    let (first, bucket) = (Deployment::embedded(&home, "first"), Deployment::scaled(&home, "bucket"));
    let last = Deployment::embedded(&home, "last");
    for n in 0..IMAGES {
        let file = first.directory.join(format!("{n:02x}")).join(format!("{n:02x}{n:030x}.jpg"));
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(file, vec![n.try_into().unwrap(); BYTES]).unwrap();
    }
    for (from, to) in [(&first, &bucket), (&bucket, &last)] {
        let command = home.agora(&["copy", "--media-from", &from.media, "--media-to", &to.media]);
        let (copied, memory) = succeeded(command);
        assert!(copied.stdout.contains(&format!("Copied {IMAGES} images")), "{copied:?}");
        // Only some of the 300 MB of images are in memory at a time.
        assert!(memory < 120 << 20, "{memory} bytes");
    }
    assert_eq!(files(&last.directory).len(), IMAGES);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_killed_copy_leaves_no_rows_and_can_be_run_again() {
    let home = Home::new();
    let (from, sqlite) = (Deployment::embedded(&home, "from"), Deployment::embedded(&home, "to"));
    fill(&from.database, 20_000).await;
    for to in [sqlite, Deployment::scaled(&home, "to")] {
        let copy = || home.agora(&["copy", "--from", &from.database, "--to", &to.database]);
        for signal in ["KILL", "TERM"] {
            let mut command = copy();
            // A log line at each tenth of the rows.
            command.env("AGORA_LOG", "info");
            let mut process = Process::spawn(command, "");
            process.error_line("rows done=");
            process.signal(signal);
            let ended = process.finish();
            assert_ne!(ended.code, Some(0), "{ended:?}");
        }
        let copied = run(copy(), "").expect_success();
        assert!(copied.stdout.contains("Copied 81000 rows"), "{copied:?}");
    }
    let backup = ["backup", "half.tar"];
    let mut process = Process::spawn(from.command(&home, &backup), "");
    process.error_line("rows done=");
    process.signal("TERM");
    assert!(process.finish().stderr.contains("interrupted"));
    assert!(!files(&home.path(".")).iter().any(|file| file.ends_with(".tar") || file.contains(".agora-backup")));
}

#[tokio::test(flavor = "multi_thread")]
async fn progress_on_a_terminal_is_one_line() {
    let home = Home::new();
    let (from, to) = (Deployment::embedded(&home, "from"), Deployment::embedded(&home, "to"));
    fill(&from.database, 10_000).await;
    // `script` runs a command on a pseudoterminal.
    let line = format!("'{AGORA}' copy --from '{}' --to '{}'", from.database, to.database);
    let mut command = home.program("script");
    command.args(["-qec", &line, "/dev/null"]).env("TERM", "xterm").env("COLUMNS", "100");
    let shown = run(command, "").expect_success().stdout;
    let lines: Vec<&str> = shown.lines().collect();
    assert!(lines[0].contains("rows [") && lines[0].contains("check ["), "{shown:?}");
    assert!(lines[1..].iter().all(|line| !line.contains('[')), "{shown:?}");
}
