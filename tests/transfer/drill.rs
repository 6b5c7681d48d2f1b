//! `deploy/restore-drill`, and the consistency of a backup that is made under concurrent, conflicting writes.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use reqwest::Method;
use serde_json::Value;

use crate::backup::expect_consistent;
use crate::client::{Client, User, eventually, list, text};
use crate::hostile::{forge, saved, with_unnamed_image};
use crate::picture::picture;
use crate::place::{Deployment, files};
use crate::process::{AGORA, Home, run};

/// Clients that write concurrently on each other's posts.
#[derive(Clone)]
struct Crowd {
    api: Client,
    users: Arc<Vec<User>>,
    /// The newest posts of all clients.
    posts: Arc<Mutex<Vec<String>>>,
    stop: Arc<AtomicBool>,
    rounds: Arc<AtomicUsize>,
}

impl Crowd {
    fn newest(&self) -> Option<String> {
        self.posts.lock().unwrap().last().cloned()
    }

    /// Writes as the nth user until `stop` is set. A post that another client has deleted meanwhile is not found (404).
    async fn write(self, n: usize) {
        let (api, me) = (&self.api, &self.users[n]);
        let followed = &self.users[(n + 1) % self.users.len()].id;
        while !self.stop.load(Ordering::Relaxed) {
            let round = self.rounds.fetch_add(1, Ordering::Relaxed);
            if round.is_multiple_of(3) {
                let post = text(&api.post(me, "In the crowd", Some(&picture())).await["id"]);
                self.posts.lock().unwrap().push(post);
            }
            if let Some(post) = self.newest() {
                for method in [Method::PUT, Method::POST, Method::PUT] {
                    expect_status(api.call(me, method, &format!("/api/posts/like/{post}")).await.status, &[200, 404]);
                }
                expect_status(api.send(api.commenting(me, &post, "Me too")).await.status, &[201, 404]);
                self.delete_own_comment(me, &post).await;
            }
            api.call(me, Method::POST, &format!("/api/follow/follow/{followed}")).await.expect(200);
            // Deletes the oldest post, with its likes and comments, if it is the user's own.
            let oldest = self.posts.lock().unwrap().first().cloned();
            if let Some(post) = oldest.filter(|_| round % 4 == 3) {
                let gone = api.call(me, Method::DELETE, &format!("/api/posts/delete/{post}")).await.status;
                expect_status(gone, &[200, 403, 404]);
                if gone == 200 {
                    self.posts.lock().unwrap().retain(|kept| *kept != post);
                }
            }
        }
    }

    /// Deletes the user's oldest comment on a post, if there are at least two.
    async fn delete_own_comment(&self, me: &User, post: &str) {
        let answer = self.api.get(me, &format!("/api/comments/all/{post}")).await;
        if answer.status != 200 {
            return;
        }
        let comments = answer.data();
        let mine: Vec<&Value> = list(&comments).iter().filter(|it| it["author"]["id"] == *me.id).collect();
        if let [first, _, ..] = mine[..] {
            let path = format!("/api/comments/delete/{}", text(&first["id"]));
            expect_status(self.api.call(me, Method::DELETE, &path).await.status, &[200, 404]);
        }
    }

    async fn await_rounds(&self, more: usize) {
        let enough = self.rounds.load(Ordering::Relaxed) + more;
        eventually("the crowd writes", async || (self.rounds.load(Ordering::Relaxed) >= enough).then_some(())).await;
    }
}

#[track_caller]
fn expect_status(status: u16, known: &[u16]) {
    assert!(known.contains(&status), "{status}");
}

/// Checks that every followed user lists the follower.
async fn expect_follows(api: &Client, users: &[User]) {
    for user in users {
        let followed = api.get(user, &format!("/api/follow/followed/{}", user.id)).await.expect(200).data();
        for other in list(&followed) {
            let other = users.iter().find(|it| other["id"] == *it.id).expect("one of the crowd");
            let followers = api.get(other, &format!("/api/follow/followers/{}", other.id)).await.expect(200).data();
            assert!(list(&followers).iter().any(|it| it["id"] == *user.id), "{} and {}", user.name, other.name);
        }
    }
}

/// Returns the command of the script, with the settings of a deployment. Its temporary files are in [`temporary_directory`].
fn drill(home: &Home, place: &Deployment) -> Command {
    drill_with(Path::new(AGORA), home, place)
}

/// Returns the same command for another program.
fn drill_with(program: &Path, home: &Home, place: &Deployment) -> Command {
    let settings = place.command(home, &[]);
    let mut drill = home.program("bash");
    drill.arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../deploy/restore-drill")).arg(program);
    drill.envs(settings.get_envs().filter_map(|(name, value)| Some((name, value?))));
    fs::create_dir_all(temporary_directory(home)).unwrap();
    drill.env("TMPDIR", temporary_directory(home));
    drill
}

fn temporary_directory(home: &Home) -> PathBuf {
    home.path("room")
}

/// Checks that a drill has left neither a file nor a process with its settings.
fn expect_nothing_left(home: &Home) {
    let directory = temporary_directory(home);
    assert_eq!(fs::read_dir(&directory).unwrap().count(), 0);
    let settings = format!("AGORA_DATA_DIR={}", directory.display());
    let processes = fs::read_dir("/proc").unwrap().map(|entry| entry.unwrap().path());
    // The environment of other users' processes, and of those that end meanwhile, cannot be read.
    let left = processes.filter(|process| {
        let environment = fs::read(process.join("environ")).unwrap_or_default();
        String::from_utf8_lossy(&environment).contains(&settings)
    });
    assert_eq!(left.collect::<Vec<_>>(), Vec::<PathBuf>::new());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_drill_succeeds_under_concurrent_writes() {
    let home = Home::new();
    for (n, place) in [Deployment::embedded(&home, "a"), Deployment::scaled(&home, "b")].into_iter().enumerate() {
        let service = place.start(&home);
        let mut users = Vec::new();
        for n in 0..4 {
            users.push(service.api.user(&format!("member-{n}")).await);
        }
        let users = Arc::new(users);
        let (posts, stop, rounds) = Default::default();
        let crowd = Crowd { api: service.api.clone(), users: Arc::clone(&users), posts, stop, rounds };
        let writers: Vec<_> = (0..4).map(|n| tokio::spawn(crowd.clone().write(n))).collect();
        crowd.await_rounds(20).await;

        let drilling = drill(&home, &place);
        let output = tokio::task::spawn_blocking(move || run(drilling, "")).await.unwrap().expect_success().stdout;
        assert!(output.contains("Saved ") && output.contains("compared and served: it could be restored."), "{output}");
        expect_nothing_left(&home);

        // A backup contains every write that was acknowledged before it began, and existing tokens stay valid.
        let api = &service.api;
        let post = text(&api.post(&users[0], "Before the backup", Some(&picture())).await["id"]);
        api.call(&users[1], Method::PUT, &format!("/api/posts/like/{post}")).await.expect(200);
        crowd.await_rounds(5).await;
        let elsewhere = Home::new();
        let file = elsewhere.path("backup.tar");
        let backup = place.command(&home, &["backup", file.to_str().unwrap()]);
        tokio::task::spawn_blocking(move || run(backup, "")).await.unwrap().expect_success();
        crowd.stop.store(true, Ordering::Relaxed);
        for writer in writers {
            writer.await.unwrap();
        }
        service.stop();
        let to = if n == 0 { Deployment::scaled(&elsewhere, "to") } else { Deployment::embedded(&elsewhere, "to") };
        to.run(&elsewhere, &["restore", file.to_str().unwrap()]).expect_success();
        expect_consistent(&to, &elsewhere).await;
        let restored = to.start(&elsewhere);
        let view = restored.api.view(&users[1], &post).await;
        assert!(view["content"] == "Before the backup" && view["likedByMe"] == true, "{view}");
        expect_follows(&restored.api, &users).await;
        restored.stop();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_drill_fails_if_an_image_is_missing_and_leaves_nothing_behind() {
    let home = Home::new();
    let place = Deployment::embedded(&home, "place");
    place.settle(&home).await;
    fs::remove_file(files(&place.directory).pop_first().unwrap()).unwrap();
    run(drill(&home, &place), "").expect_refusal(&["1 referenced images are missing"]);
    expect_nothing_left(&home);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_drill_succeeds_if_an_image_is_deleted_during_the_backup() {
    let (_origin, saved) = saved().await;
    let home = Home::new();
    let forged = forge(&home, &with_unnamed_image(&saved).0);
    // A program that returns the forged backup for the first call, which lacks the settings of the drill, and otherwise runs the
    // real one.
    let program = home.path("program");
    let forged = forged.display();
    let text = format!(
        "#!/bin/sh\n[ \"$1\" = backup ] && [ -z \"$AGORA_LISTEN\" ] && exec cp '{forged}' \"$2\"\nexec '{AGORA}' \"$@\"\n"
    );
    fs::write(&program, text).unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o700)).unwrap();
    let mut drill = drill_with(&program, &home, &Deployment::embedded(&home, "place"));
    drill.env_remove("AGORA_LISTEN");
    let output = run(drill, "").expect_success().stdout;
    assert!(output.contains("1 were deleted again") && output.contains("it could be restored."), "{output}");
}
