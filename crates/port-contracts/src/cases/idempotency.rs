//! Idempotent requests.

use agora_domain::accounts::Viewer;
use agora_domain::clock::Timestamp;
use agora_domain::error::{Conflict, Resource};
use agora_domain::id::UserId;
use agora_domain::idempotency::{
    AttemptId, Begun, Fingerprint, Fingerprints, IdempotencyKey, Lookup, Outcome, Record, RequestName,
};
use agora_domain::relation::Standing;
use agora_domain::{Error, Result};

use crate::Repositories;
use crate::run::{assert_fails, concurrently};
use crate::world::{World, at, attached};

const CONTENT: Fingerprints = Fingerprints::only(Fingerprint([7; 32]));
const OTHER_CONTENT: Fingerprints = Fingerprints::only(Fingerprint([8; 32]));

fn name(caller: Option<UserId>, route: &str, key: &str) -> RequestName {
    RequestName { caller, route: route.to_owned(), key: IdempotencyKey::parse(key).unwrap() }
}

fn attempt(w: &World) -> AttemptId {
    AttemptId::new(w.id::<uuid::Uuid>())
}

/// Begins an attempt at `now`; returns the result and the attempt's id.
async fn begin_at(db: &Repositories, w: &World, name: &RequestName, now: Timestamp) -> (Begun, AttemptId) {
    let attempt = attempt(w);
    (db.idempotency.begin(name, CONTENT, attempt, now).await.unwrap(), attempt)
}

async fn begin(db: &Repositories, w: &World, key: &str) -> AttemptId {
    let (begun, attempt) = begin_at(db, w, &name(None, "POST /", key), at(0)).await;
    assert_eq!(begun, Begun::First);
    attempt
}

/// Returns what a repetition of the request finds under the key.
async fn look_up(db: &Repositories, w: &World, key: &str) -> Lookup {
    match begin_at(db, w, &name(None, "POST /", key), at(0)).await.0 {
        Begun::Found(found) => found,
        Begun::First => panic!("there is no record under {key}"),
    }
}

/// Carries an attempt out by toggling whether `by` follows `whom`; returns what repetitions find from then on.
async fn carry_out(db: &Repositories, w: &World, attempt: AttemptId, by: UserId, whom: UserId) -> Lookup {
    let follows = db.follows.toggle(by, whom, w.new_relation(), Some(attempt)).await.unwrap();
    Lookup::Done(Outcome::FollowToggled(follows))
}

pub async fn an_attempt_finds_the_earlier_one_of_the_same_name(db: Repositories) {
    let w = World::new(&db);
    let [ada, bob] = w.users().await;
    let names = [
        name(None, "POST /", "key"),
        name(Some(ada), "POST /", "key"),
        name(Some(bob), "POST /", "key"),
        name(Some(ada), "POST /other", "key"),
        name(Some(ada), "POST /", "Key"),
        name(Some(ada), "POST /", "key';--"),
    ];
    for name in &names {
        assert_eq!(begin_at(&db, &w, name, at(0)).await.0, Begun::First, "{name:?}");
    }
    for name in &names {
        assert_eq!(begin_at(&db, &w, name, at(1)).await.0, Begun::Found(Lookup::Running), "{name:?}");
        let differs = db.idempotency.begin(name, OTHER_CONTENT, attempt(&w), at(1)).await.unwrap();
        assert_eq!(differs, Begun::Found(Lookup::Differs));
    }
}

pub async fn only_the_newest_requests_of_an_account_stay_on_record(db: Repositories) {
    let w = World::new(&db);
    let [ada, bob] = w.users().await;
    let most = Record::MAX_PER_CALLER;
    let key = |n: usize| format!("key {n}").replace(' ', "-");
    let done = async |caller, n: usize| {
        let (begun, attempt) = begin_at(&db, &w, &name(Some(caller), "POST /", &key(n)), at(n as i64)).await;
        assert_eq!(begun, Begun::First, "{n}");
        carry_out(&db, &w, attempt, ada, bob).await;
    };
    done(bob, 0).await;
    // An attempt that stays in progress throughout.
    let running = name(Some(ada), "POST /", "running");
    assert_eq!(begin_at(&db, &w, &running, at(0)).await.0, Begun::First);
    for n in 0..most + 20 {
        done(ada, n).await;
    }
    let now = at(most as i64 + 20);
    let is_known = async |caller, n: usize| {
        db.idempotency.begin(&name(Some(caller), "POST /", &key(n)), CONTENT, attempt(&w), now).await.unwrap()
            != Begun::First
    };
    for n in [most + 19, most, 20] {
        assert!(is_known(ada, n).await, "{n} is among the newest");
    }
    assert!(!is_known(ada, 0).await && !is_known(ada, 15).await, "the oldest are deleted");
    assert!(is_known(bob, 0).await, "a record of another account");
    assert_eq!(begin_at(&db, &w, &running, at(1)).await.0, Begun::Found(Lookup::Running));
}

pub async fn an_accepted_old_fingerprint_matches_as_well(db: Repositories) {
    let w = World::new(&db);
    let [ada, bob] = w.users().await;
    let key = name(None, "POST /", "key");
    let now_with = |own| Fingerprints { own: Fingerprint([own; 32]), accepted: Some(CONTENT.own) };
    let first = begin(&db, &w, "key").await;
    let changing = async |own, at| db.idempotency.begin(&key, now_with(own), attempt(&w), at).await.unwrap();
    assert_eq!(changing(9, at(1)).await, Begun::Found(Lookup::Running));
    let done = carry_out(&db, &w, first, ada, bob).await;
    assert_eq!(changing(9, at(1)).await, Begun::Found(done));
    // The attempt that replaces it is recorded with its own fingerprint.
    assert_eq!(changing(9, at(Record::RETENTION_MILLIS)).await, Begun::First);
    assert_eq!(changing(9, at(Record::RETENTION_MILLIS)).await, Begun::Found(Lookup::Running));
    assert_eq!(begin_at(&db, &w, &key, at(Record::RETENTION_MILLIS)).await.0, Begun::Found(Lookup::Differs));
}

pub async fn the_outcome_of_an_attempt_is_permanent(db: Repositories) {
    let w = World::new(&db);
    let [ada, bob] = w.users().await;
    let first = begin(&db, &w, "key").await;
    let done = carry_out(&db, &w, first, ada, bob).await;
    assert_eq!(look_up(&db, &w, "key").await, done);
    assert_refused(db.follows.toggle(ada, bob, w.new_relation(), Some(first)).await);
    db.idempotency.abandon(first).await.unwrap();
    assert_eq!(look_up(&db, &w, "key").await, done);
}

pub async fn an_abandoned_attempt_releases_its_name(db: Repositories) {
    let w = World::new(&db);
    let [ada, bob] = w.users().await;
    let (first, other) = (begin(&db, &w, "key").await, begin(&db, &w, "other").await);
    db.idempotency.abandon(first).await.unwrap();
    let second = begin(&db, &w, "key").await;
    db.idempotency.abandon(first).await.unwrap();
    assert_eq!(look_up(&db, &w, "key").await, Lookup::Running, "the second record is a new one");
    assert_eq!(look_up(&db, &w, "other").await, Lookup::Running);
    db.idempotency.abandon(second).await.unwrap();
    let done = carry_out(&db, &w, other, ada, bob).await;
    assert_eq!(look_up(&db, &w, "other").await, done);
}

pub async fn beginning_the_same_attempt_again_is_idempotent(db: Repositories) {
    let w = World::new(&db);
    let (name, attempt) = (name(None, "POST /", "key"), attempt(&w));
    for _ in 0..2 {
        assert_eq!(db.idempotency.begin(&name, CONTENT, attempt, at(0)).await.unwrap(), Begun::First);
    }
    assert_eq!(look_up(&db, &w, "key").await, Lookup::Running);
}

pub async fn one_of_several_concurrent_attempts_is_the_first(db: Repositories) {
    let w = World::new(&db);
    for round in 0..5 {
        let begun = concurrently((0..16).map(|_| {
            let (db, attempt) = (db.clone(), attempt(&w));
            let name = name(None, "POST /", &format!("key{round}"));
            async move { db.idempotency.begin(&name, CONTENT, attempt, at(0)).await.unwrap() }
        }))
        .await;
        assert_eq!(begun.iter().filter(|begun| **begun == Begun::First).count(), 1);
        assert!(begun.iter().all(|begun| matches!(begun, Begun::First | Begun::Found(Lookup::Running))), "{begun:?}");
    }
}

pub async fn one_of_several_concurrent_replacements_is_the_first(db: Repositories) {
    let w = World::new(&db);
    let key = name(None, "POST /", "key");
    begin(&db, &w, "key").await;
    let begun =
        concurrently(
            (0..16).map(|_| {
                let (db, attempt, name) = (db.clone(), attempt(&w), key.clone());
                async move {
                    db.idempotency.begin(&name, CONTENT, attempt, at(Record::ATTEMPT_TIMEOUT_MILLIS)).await.unwrap()
                }
            }),
        )
        .await;
    assert_eq!(begun.iter().filter(|begun| **begun == Begun::First).count(), 1, "{begun:?}");
}

pub async fn lost_and_expired_attempts_are_replaced(db: Repositories) {
    let w = World::new(&db);
    let [ada, bob] = w.users().await;
    let key = name(None, "POST /", "key");
    let first = begin(&db, &w, "key").await;
    assert_eq!(begin_at(&db, &w, &key, at(Record::ATTEMPT_TIMEOUT_MILLIS - 1)).await.0, Begun::Found(Lookup::Running));
    let (begun, second) = begin_at(&db, &w, &key, at(Record::ATTEMPT_TIMEOUT_MILLIS)).await;
    assert_eq!(begun, Begun::First);
    assert_refused(db.follows.toggle(ada, bob, w.new_relation(), Some(first)).await);
    let done = Begun::Found(carry_out(&db, &w, second, ada, bob).await);
    let begun_at = Record::ATTEMPT_TIMEOUT_MILLIS;
    assert_eq!(begin_at(&db, &w, &key, at(begun_at + Record::RETENTION_MILLIS - 1)).await.0, done);
    assert_eq!(begin_at(&db, &w, &key, at(begun_at + Record::RETENTION_MILLIS)).await.0, Begun::First);
}

pub async fn records_begun_before_an_instant_are_deleted(db: Repositories) {
    let w = World::new(&db);
    let [ada, bob] = w.users().await;
    let mut done = Lookup::Running;
    for n in 0..5 {
        let (begun, first) = begin_at(&db, &w, &name(None, "POST /", &format!("key{n}")), at(n)).await;
        assert_eq!(begun, Begun::First);
        if n % 2 == 0 {
            done = carry_out(&db, &w, first, ada, bob).await;
        }
    }
    assert_eq!(db.idempotency.delete_begun_before(at(3)).await.unwrap(), 3);
    assert_eq!(db.idempotency.delete_begun_before(at(3)).await.unwrap(), 0);
    for n in 0..3 {
        begin(&db, &w, &format!("key{n}")).await;
    }
    assert_eq!(look_up(&db, &w, "key3").await, Lookup::Running);
    assert_eq!(look_up(&db, &w, "key4").await, done);
}

pub async fn every_write_of_an_attempt_stores_its_outcome(db: Repositories) {
    let w = World::new(&db);
    let [ada, bob] = w.users().await;
    let post = w.post(ada).await.id;
    let begun = async |key| Some(begin(&db, &w, key).await);

    let account = w.new_account("Cleo");
    db.accounts.create(&account, begun("account").await).await.unwrap();
    let (plain, mut pictured) = (w.new_post(ada), w.new_post(ada));
    db.posts.create(&plain, &[], begun("post").await).await.unwrap();
    pictured.attachments = attached(Some(w.image().await));
    db.posts.create(&pictured, &[], begun("picture").await).await.unwrap();
    let comment = w.new_comment(post, bob);
    db.comments.create(&comment, begun("comment").await).await.unwrap();
    let reply = w.new_reply(&comment.comment, comment.comment.id, ada);
    db.comments.create(&reply, begun("reply").await).await.unwrap();
    for (key, on) in [("like", true), ("unlike", false)] {
        assert_eq!(db.posts.toggle_like(post, bob, w.new_relation(), begun(key).await).await.unwrap(), on);
    }
    w.like(post, bob).await;
    db.posts.retract_like(post, bob, begun("taken-back").await).await.unwrap();
    for (key, on) in [("follow", true), ("unfollow", false)] {
        assert_eq!(db.follows.toggle(bob, ada, w.new_relation(), begun(key).await).await.unwrap(), on);
    }
    let product = w.new_product("sku");
    db.products.create(&product, &w.entry(), begun("product").await).await.unwrap();
    let report = w.new_report(ada);
    for key in ["report", "same-report"] {
        db.reports.create(&report, &[], begun(key).await).await.unwrap();
    }

    for (key, outcome) in [
        ("account", Outcome::Registered(account.account.id)),
        ("post", Outcome::PostCreated(plain.id)),
        ("picture", Outcome::PostCreated(pictured.id)),
        ("comment", Outcome::CommentCreated(comment.comment.id)),
        ("reply", Outcome::CommentCreated(reply.comment.id)),
        ("like", Outcome::LikeToggled(true)),
        ("unlike", Outcome::LikeToggled(false)),
        ("taken-back", Outcome::LikeToggled(false)),
        ("follow", Outcome::FollowToggled(true)),
        ("unfollow", Outcome::FollowToggled(false)),
        ("product", Outcome::ProductCreated(product.id)),
        ("report", Outcome::ReportCreated(report.id)),
        ("same-report", Outcome::ReportFound(report.id)),
    ] {
        assert_eq!(look_up(&db, &w, key).await, Lookup::Done(outcome));
    }
    let view = db.posts.find(post, Viewer::ordinary(bob)).await.unwrap().unwrap().view;
    assert_eq!((view.comment_count, view.like_count), (2, 0));
}

pub async fn a_refused_write_stores_no_outcome(db: Repositories) {
    let w = World::new(&db);
    let ada = w.account("Ada").await.id;
    w.product("sku").await;
    let begun = async |key| Some(begin(&db, &w, key).await);
    let like = begun("like").await;
    assert_fails!(db.posts.toggle_like(w.id(), ada, w.new_relation(), like).await, Error::NotFound(Resource::Post));
    let (post, taken_back) = (w.post(ada).await.id, begun("taken-back").await);
    assert_fails!(db.posts.retract_like(post, ada, taken_back).await, Error::NotFound(Resource::Post));
    let comment = begun("comment").await;
    assert_fails!(db.comments.create(&w.new_comment(w.id(), ada), comment).await, Error::NotFound(Resource::Post));
    let follow = begun("follow").await;
    assert_fails!(db.follows.toggle(ada, w.id(), w.new_relation(), follow).await, Error::NotFound(Resource::User));
    let product = begun("product").await;
    assert_fails!(db.products.create(&w.new_product("SKU"), &w.entry(), product).await, Error::Conflict(Conflict::Sku));
    let account = begun("account").await;
    assert_fails!(db.accounts.create(&w.new_account("ADA"), account).await, Error::Conflict(Conflict::Username));
    for key in ["like", "taken-back", "comment", "follow", "product", "account"] {
        assert_eq!(look_up(&db, &w, key).await, Lookup::Running, "{key}");
    }
}

/// Checks that the write of an attempt that is no longer on record was refused.
fn assert_refused<T: std::fmt::Debug>(outcome: Result<T>) {
    assert_fails!(outcome, Error::Unavailable(_));
}

pub async fn a_replaced_attempt_writes_nothing(db: Repositories) {
    let w = World::new(&db);
    let [ada, bob] = w.users().await;
    let post = w.post(ada).await.id;
    let lost = Some(attempt(&w));
    let (account, second, product) = (w.new_account("Cleo"), w.new_post(ada), w.new_product("sku"));
    assert_refused(db.accounts.create(&account, lost).await);
    assert_refused(db.posts.create(&second, &[], lost).await);
    assert_refused(db.comments.create(&w.new_comment(post, bob), lost).await);
    assert_refused(db.posts.toggle_like(post, bob, w.new_relation(), lost).await);
    assert_refused(db.follows.toggle(bob, ada, w.new_relation(), lost).await);
    assert_refused(db.products.create(&product, &w.entry(), lost).await);

    assert_eq!(db.accounts.find(account.account.id).await.unwrap(), None);
    assert_eq!(db.posts.find(second.id, Viewer::ordinary(ada)).await.unwrap(), None);
    assert_eq!(db.products.find(product.id).await.unwrap(), None);
    assert_eq!(db.follows.find_standing(bob, ada).await.unwrap(), Some(Standing::Stranger));
    let view = db.posts.find(post, Viewer::ordinary(bob)).await.unwrap().unwrap().view;
    assert_eq!((view.comment_count, view.like_count, view.liked_by_viewer), (0, 0, false));
}

pub async fn an_attempt_and_its_replacement_write_once_between_them(db: Repositories) {
    let w = World::new(&db);
    let [ada, fan] = w.users().await;
    for round in 0..10 {
        let post = w.post(ada).await.id;
        let named = name(None, "POST /", &format!("key{round}"));
        let (begun, first) = begin_at(&db, &w, &named, at(0)).await;
        assert_eq!(begun, Begun::First);
        let tasks = [(false, first), (true, attempt(&w))].map(|(replaces, attempt)| {
            let (db, like, named) = (db.clone(), w.new_relation(), named.clone());
            async move {
                let begun = match replaces {
                    false => Begun::First,
                    true => db
                        .idempotency
                        .begin(&named, CONTENT, attempt, at(Record::ATTEMPT_TIMEOUT_MILLIS))
                        .await
                        .unwrap(),
                };
                match begun {
                    Begun::First => db.posts.toggle_like(post, fan, like, Some(attempt)).await.is_ok(),
                    Begun::Found(Lookup::Done(_)) => false,
                    Begun::Found(found) => panic!("{found:?}"),
                }
            }
        });
        let written = concurrently(tasks).await;
        assert_eq!(written.iter().filter(|written| **written).count(), 1, "{written:?}");
        let view = db.posts.find(post, Viewer::ordinary(fan)).await.unwrap().unwrap().view;
        assert_eq!((view.like_count, view.liked_by_viewer), (1, true));
    }
}
