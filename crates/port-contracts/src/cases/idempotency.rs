//! Requests that are sent again.

use agora_domain::clock::Timestamp;
use agora_domain::error::{Conflict, Resource};
use agora_domain::id::UserId;
use agora_domain::idempotency::{
    Answer, AttemptId, Begun, Fingerprint, Fingerprints, IdempotencyKey, Lookup, Once, Record, RequestName,
};
use agora_domain::posts::PostView;
use agora_domain::{Error, Result};

use crate::Repositories;
use crate::run::{assert_fails, together};
use crate::world::{World, at};

const CONTENT: Fingerprints = Fingerprints::only(Fingerprint([7; 32]));
const OTHER_CONTENT: Fingerprints = Fingerprints::only(Fingerprint([8; 32]));

fn name(caller: Option<UserId>, route: &str, key: &str) -> RequestName {
    RequestName { caller, route: route.to_owned(), key: IdempotencyKey::parse(key).unwrap() }
}

fn answer(text: &str) -> Answer {
    Answer(text.to_owned().into())
}

fn attempt(w: &World) -> AttemptId {
    AttemptId::new(w.id::<uuid::Uuid>())
}

/// Begins an attempt at `now`; how it began, and its id.
async fn begin_at(db: &Repositories, w: &World, name: &RequestName, now: Timestamp) -> (Begun, AttemptId) {
    let attempt = attempt(w);
    (db.idempotency.begin(name, CONTENT, attempt, now).await.unwrap(), attempt)
}

async fn begin(db: &Repositories, w: &World, key: &str) -> AttemptId {
    let (begun, attempt) = begin_at(db, w, &name(None, "POST /", key), at(0)).await;
    assert_eq!(begun, Begun::First);
    attempt
}

/// Returns what the same request meets under the key.
async fn met(db: &Repositories, w: &World, key: &str) -> Lookup {
    match begin_at(db, w, &name(None, "POST /", key), at(0)).await.0 {
        Begun::Found(met) => met,
        Begun::First => panic!("nothing is on record under {key}"),
    }
}

pub async fn an_attempt_meets_the_one_before_it_under_the_same_name(db: Repositories) {
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

pub async fn of_one_account_so_many_requests_stay_on_record_the_newest_ones(db: Repositories) {
    let w = World::new(&db);
    let [ada, bob] = w.users().await;
    let most = Record::MOST_PER_CALLER;
    let key = |n: usize| format!("key {n}").replace(' ', "-");
    let done = async |caller, n: usize| {
        let (begun, attempt) = begin_at(&db, &w, &name(Some(caller), "POST /", &key(n)), at(n as i64)).await;
        assert_eq!(begun, Begun::First, "{n}");
        db.idempotency.finish(attempt, &answer("done")).await.unwrap();
    };
    done(bob, 0).await;
    // One is under way all the time.
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
    assert!(!is_known(ada, 0).await && !is_known(ada, 15).await, "the oldest are forgotten");
    assert!(is_known(bob, 0).await, "another account's");
    assert_eq!(begin_at(&db, &w, &running, at(1)).await.0, Begun::Found(Lookup::Running));
}

pub async fn a_request_is_known_by_the_fingerprint_that_it_had_before(db: Repositories) {
    let w = World::new(&db);
    let key = name(None, "POST /", "key");
    let now_with = |own| Fingerprints { own: Fingerprint([own; 32]), accepted: Some(CONTENT.own) };
    let first = begin(&db, &w, "key").await;
    let changing = async |own, at| db.idempotency.begin(&key, now_with(own), attempt(&w), at).await.unwrap();
    assert_eq!(changing(9, at(1)).await, Begun::Found(Lookup::Running));
    db.idempotency.finish(first, &answer("done")).await.unwrap();
    assert_eq!(changing(9, at(1)).await, Begun::Found(Lookup::Answered(answer("done"))));
    // What takes its place is on record under its own.
    assert_eq!(changing(9, at(Record::KEPT_MILLIS)).await, Begun::First);
    assert_eq!(changing(9, at(Record::KEPT_MILLIS)).await, Begun::Found(Lookup::Running));
    assert_eq!(begin_at(&db, &w, &key, at(Record::KEPT_MILLIS)).await.0, Begun::Found(Lookup::Differs));
}

pub async fn a_finished_attempt_is_answered_as_it_was_at_first(db: Repositories) {
    let w = World::new(&db);
    let first = begin(&db, &w, "key").await;
    let whole = Answer((0..=255).cycle().take(100_000).collect::<Vec<u8>>().into());
    db.idempotency.finish(first, &whole).await.unwrap();
    assert_eq!(met(&db, &w, "key").await, Lookup::Answered(whole.clone()));
    db.idempotency.finish(first, &answer("later")).await.unwrap();
    db.idempotency.abandon(first).await.unwrap();
    assert_eq!(met(&db, &w, "key").await, Lookup::Answered(whole));
    db.idempotency.finish(attempt(&w), &answer("of no attempt")).await.unwrap();
}

pub async fn an_abandoned_attempt_leaves_its_name_free(db: Repositories) {
    let w = World::new(&db);
    let (first, other) = (begin(&db, &w, "key").await, begin(&db, &w, "other").await);
    db.idempotency.abandon(first).await.unwrap();
    let second = begin(&db, &w, "key").await;
    db.idempotency.abandon(first).await.unwrap();
    assert_eq!(met(&db, &w, "key").await, Lookup::Running, "the second one is not the first");
    assert_eq!(met(&db, &w, "other").await, Lookup::Running);
    db.idempotency.abandon(second).await.unwrap();
    db.idempotency.finish(other, &answer("other")).await.unwrap();
    assert_eq!(met(&db, &w, "other").await, Lookup::Answered(answer("other")));
}

pub async fn of_attempts_that_begin_at_once_one_is_the_first(db: Repositories) {
    let w = World::new(&db);
    for round in 0..5 {
        let begun = together((0..16).map(|_| {
            let (db, attempt) = (db.clone(), attempt(&w));
            let name = name(None, "POST /", &format!("key{round}"));
            async move { db.idempotency.begin(&name, CONTENT, attempt, at(0)).await.unwrap() }
        }))
        .await;
        assert_eq!(begun.iter().filter(|begun| **begun == Begun::First).count(), 1);
        assert!(begun.iter().all(|begun| matches!(begun, Begun::First | Begun::Found(Lookup::Running))), "{begun:?}");
    }
}

pub async fn of_attempts_that_replace_a_lost_one_at_once_one_is_the_first(db: Repositories) {
    let w = World::new(&db);
    let key = name(None, "POST /", "key");
    begin(&db, &w, "key").await;
    let begun = together((0..16).map(|_| {
        let (db, attempt, name) = (db.clone(), attempt(&w), key.clone());
        async move { db.idempotency.begin(&name, CONTENT, attempt, at(Record::LOST_MILLIS)).await.unwrap() }
    }))
    .await;
    assert_eq!(begun.iter().filter(|begun| **begun == Begun::First).count(), 1, "{begun:?}");
}

pub async fn what_no_longer_counts_is_replaced(db: Repositories) {
    let w = World::new(&db);
    let key = name(None, "POST /", "key");
    let first = begin(&db, &w, "key").await;
    assert_eq!(begin_at(&db, &w, &key, at(Record::LOST_MILLIS - 1)).await.0, Begun::Found(Lookup::Running));
    let (begun, second) = begin_at(&db, &w, &key, at(Record::LOST_MILLIS)).await;
    assert_eq!(begun, Begun::First);
    db.idempotency.finish(first, &answer("first")).await.unwrap();
    db.idempotency.finish(second, &answer("second")).await.unwrap();
    let begun_at = Record::LOST_MILLIS;
    let answered = Begun::Found(Lookup::Answered(answer("second")));
    assert_eq!(begin_at(&db, &w, &key, at(begun_at + Record::KEPT_MILLIS - 1)).await.0, answered);
    assert_eq!(begin_at(&db, &w, &key, at(begun_at + Record::KEPT_MILLIS)).await.0, Begun::First);
}

pub async fn records_of_what_began_before_an_instant_are_deleted_and_counted(db: Repositories) {
    let w = World::new(&db);
    for n in 0..5 {
        let (begun, first) = begin_at(&db, &w, &name(None, "POST /", &format!("key{n}")), at(n)).await;
        assert_eq!(begun, Begun::First);
        if n % 2 == 0 {
            db.idempotency.finish(first, &answer("done")).await.unwrap();
        }
    }
    assert_eq!(db.idempotency.delete_begun_before(at(3)).await.unwrap(), 3);
    assert_eq!(db.idempotency.delete_begun_before(at(3)).await.unwrap(), 0);
    for n in 0..3 {
        begin(&db, &w, &format!("key{n}")).await;
    }
    assert_eq!(met(&db, &w, "key3").await, Lookup::Running);
    assert_eq!(met(&db, &w, "key4").await, Lookup::Answered(answer("done")));
}

/// Returns the write of an attempt under this key, which is answered with the key and what `show` makes of what it
/// gave.
async fn once<T>(
    db: &Repositories,
    w: &World,
    key: &'static str,
    show: impl Fn(&T) -> String + Send + Sync + 'static,
) -> Option<Once<T>> {
    let attempt = begin(db, w, key).await;
    Some(Once::new(attempt, move |given| Ok(answer(&format!("{key}: {}", show(given))))))
}

fn nothing(&(): &()) -> String {
    "done".to_owned()
}

pub async fn every_write_of_an_attempt_stores_its_answer(db: Repositories) {
    let w = World::new(&db);
    let [ada, bob] = w.users().await;
    let post = w.post(ada).await.id;

    let registration = once(&db, &w, "account", nothing).await;
    db.accounts.create(&w.new_account("Cleo"), registration).await.unwrap();
    let text = |view: &PostView| view.post.text.as_str().to_owned();
    let publication = once(&db, &w, "post", text).await;
    db.posts.create(&w.new_post(ada), publication).await.unwrap();
    let mut pictured = w.new_post(ada);
    pictured.image = Some(w.image().await);
    let publication = once(&db, &w, "picture", |view: &PostView| view.post.image.is_some().to_string()).await;
    db.posts.create(&pictured, publication).await.unwrap();
    let comment = once(&db, &w, "comment", nothing).await;
    db.comments.create(&w.new_comment(post, bob), comment).await.unwrap();
    for (key, on) in [("like", true), ("unlike", false)] {
        let like = once(&db, &w, key, bool::to_string).await;
        assert_eq!(db.posts.toggle_like(post, bob, w.new_relation(), like).await.unwrap(), on);
    }
    for (key, on) in [("follow", true), ("unfollow", false)] {
        let follow = once(&db, &w, key, bool::to_string).await;
        assert_eq!(db.follows.toggle(bob, ada, w.new_relation(), follow).await.unwrap(), on);
    }
    let product = once(&db, &w, "product", nothing).await;
    db.products.create(&w.new_product("sku"), product).await.unwrap();

    for (key, given) in [
        ("account", "done"),
        ("post", "Good morning"),
        ("picture", "true"),
        ("comment", "done"),
        ("like", "true"),
        ("unlike", "false"),
        ("follow", "true"),
        ("unfollow", "false"),
        ("product", "done"),
    ] {
        assert_eq!(met(&db, &w, key).await, Lookup::Answered(answer(&format!("{key}: {given}"))));
    }
    let view = db.posts.find(post, bob).await.unwrap().unwrap().view;
    assert_eq!((view.comment_count, view.like_count), (1, 0));
}

pub async fn a_write_that_is_refused_leaves_no_answer(db: Repositories) {
    let w = World::new(&db);
    let ada = w.account("Ada").await.id;
    w.product("sku").await;
    let like = once(&db, &w, "like", bool::to_string).await;
    assert_fails!(db.posts.toggle_like(w.id(), ada, w.new_relation(), like).await, Error::NotFound(Resource::Post));
    let comment = once(&db, &w, "comment", nothing).await;
    assert_fails!(db.comments.create(&w.new_comment(w.id(), ada), comment).await, Error::NotFound(Resource::Post));
    let follow = once(&db, &w, "follow", bool::to_string).await;
    assert_fails!(db.follows.toggle(ada, w.id(), w.new_relation(), follow).await, Error::NotFound(Resource::User));
    let product = once(&db, &w, "product", nothing).await;
    assert_fails!(db.products.create(&w.new_product("SKU"), product).await, Error::Conflict(Conflict::Sku));
    let account = once(&db, &w, "account", nothing).await;
    assert_fails!(db.accounts.create(&w.new_account("ADA"), account).await, Error::Conflict(Conflict::Username));
    for key in ["like", "comment", "follow", "product", "account"] {
        assert_eq!(met(&db, &w, key).await, Lookup::Running, "{key}");
    }
}

/// Does what an attempt does that was given up for lost and replaced before it wrote: it must come to nothing.
fn assert_undone<T: std::fmt::Debug>(outcome: Result<T>) {
    assert_fails!(outcome, Error::Unavailable(_));
}

pub async fn an_attempt_that_was_replaced_writes_nothing(db: Repositories) {
    let w = World::new(&db);
    let [ada, bob] = w.users().await;
    let post = w.post(ada).await.id;
    let lost = attempt(&w);
    fn done<T>(lost: AttemptId) -> Option<Once<T>> {
        Some(Once::new(lost, |_| Ok(answer("late"))))
    }
    let (account, second, product) = (w.new_account("Cleo"), w.new_post(ada), w.new_product("sku"));
    assert_undone(db.accounts.create(&account, done(lost)).await);
    assert_undone(db.posts.create(&second, done(lost)).await);
    assert_undone(db.comments.create(&w.new_comment(post, bob), done(lost)).await);
    assert_undone(db.posts.toggle_like(post, bob, w.new_relation(), done(lost)).await);
    assert_undone(db.follows.toggle(bob, ada, w.new_relation(), done(lost)).await);
    assert_undone(db.products.create(&product, done(lost)).await);

    assert_eq!(db.accounts.find(account.account.id).await.unwrap(), None);
    assert_eq!(db.posts.find(second.id, ada).await.unwrap(), None);
    assert_eq!(db.products.find(product.id).await.unwrap(), None);
    assert_eq!(db.follows.is_following(bob, ada).await.unwrap(), Some(false));
    let view = db.posts.find(post, bob).await.unwrap().unwrap().view;
    assert_eq!((view.comment_count, view.like_count, view.liked_by_viewer), (0, 0, false));
}

pub async fn an_attempt_replaced_while_it_writes_and_its_successor_write_once_together(db: Repositories) {
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
                    true => db.idempotency.begin(&named, CONTENT, attempt, at(Record::LOST_MILLIS)).await.unwrap(),
                };
                match begun {
                    Begun::First => {
                        let once = Once::new(attempt, |on: &bool| Ok(answer(&on.to_string())));
                        db.posts.toggle_like(post, fan, like, Some(once)).await.is_ok()
                    }
                    Begun::Found(Lookup::Answered(_)) => false,
                    Begun::Found(met) => panic!("{met:?}"),
                }
            }
        });
        let written = together(tasks).await;
        assert_eq!(written.iter().filter(|written| **written).count(), 1, "{written:?}");
        let view = db.posts.find(post, fan).await.unwrap().unwrap().view;
        assert_eq!((view.like_count, view.liked_by_viewer), (1, true));
    }
}
