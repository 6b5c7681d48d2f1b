//! The cost of statements does not depend on how much data there is: each finds its rows by an index, and none scans a table.

use std::sync::{Arc, Mutex};

use agora_domain::accounts::{ConfirmedPassword, PasswordHash, Viewer};
use agora_domain::audit::{Action, Actor};
use agora_domain::audit_log::AuditFilter;
use agora_domain::clock::Timestamp;
use agora_domain::deletion::Erased;
use agora_domain::export::RelationKind;
use agora_domain::id::UserId;
use agora_domain::page::Keyset;
use agora_domain::search::{Kind, Needles, Query};
use agora_domain::texts::TextKind;
use diesel::connection::{InstrumentationEvent, SimpleConnection};
use diesel::sql_types::Text;
use diesel::{Connection, QueryDsl, QueryableByName, SqliteConnection};
use diesel_migrations::MigrationHarness;
use uuid::Uuid;

use super::complete;
use super::queries::{
    accounts, audit, blocks, bookmarks, comments, deletion, exports, feeds, follows, images, indexing, mail, packing,
    people, posts, products, reports, search, sessions, texts, timelines,
};
use super::text_in::may_have_text;
use crate::account_filters::DbViewer;
use crate::error::Outcome;
use crate::feeds::FeedQuery;
use crate::rows::{Slice, Toward};
use crate::schema;
use crate::schema::{search_tail, search_texts};
use crate::search_index::{Among, BucketPlace, Buckets, Contains, Packing, kind_code};
use crate::sql_types::{DbId, DbInstant};
use crate::transfer::ReferringRow;
use crate::values::{TextFilter, VisiblePosts};
use crate::version::MIGRATIONS;

#[derive(QueryableByName)]
struct Step {
    #[diesel(sql_type = Text)]
    detail: String,
}

const fn id(n: u64) -> DbId {
    DbId(Uuid::from_u64_pair(0, n))
}

/// Returns the steps of the query plans of all statements that a read runs.
fn steps<T>(read: impl FnOnce(&mut SqliteConnection) -> Outcome<T>) -> Vec<String> {
    let mut conn = SqliteConnection::establish(":memory:").unwrap();
    conn.run_pending_migrations(MIGRATIONS).unwrap();
    // Something to find, so that statements that depend on the result of the first are run as well.
    let (user, post) = (id(1).0.simple(), id(2).0.simple());
    conn.batch_execute(&format!(
        "INSERT INTO users VALUES (x'{user}', 'u', 'u', 'e', 'e', '', NULL, NULL, 0, 1, 1, 0, 0, 'name', 1, 1, 0, 1, 0, 0, NULL);
        INSERT INTO posts VALUES (x'{post}', x'{user}', 'text', NULL, 0, 0, 0, 1, 0, NULL, 1, NULL, NULL, NULL);
        INSERT INTO post_tags VALUES ('tag', 0, x'{post}', x'{user}', 0);
        INSERT INTO likes VALUES (x'{post}', x'{user}', x'{post}', 0);
        INSERT INTO bookmarks VALUES (x'{user}', x'{post}', x'{post}', 0);
        INSERT INTO search_tail VALUES (0, 0, x'{post}', 'text'), (0, 0, x'{user}', 'text');
        INSERT INTO search_buckets VALUES (0, 0, 1, 0, x'{post}', 0, x'{post}');
        INSERT INTO search_postings VALUES (0, 0, 'some', x'0000'), (0, 0, 'text', x'0000'), (0, 0, '#tag', x'0000');"
    ))
    .unwrap();
    let statements = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&statements);
    conn.set_instrumentation(move |event: InstrumentationEvent<'_>| {
        if let InstrumentationEvent::StartQuery { query, .. } = event {
            let text = query.to_string();
            seen.lock().unwrap().push(text.split(" -- binds").next().unwrap_or_default().to_owned());
        }
    });
    read(&mut conn).map(drop).unwrap();
    conn.set_instrumentation(|_: InstrumentationEvent<'_>| ());
    let statements = std::mem::take(&mut *statements.lock().unwrap());
    assert!(!statements.is_empty());
    let explain = |statement| {
        let explain = diesel::sql_query(format!("EXPLAIN QUERY PLAN {statement}"));
        diesel::RunQueryDsl::load::<Step>(explain, &mut conn).unwrap()
    };
    statements.into_iter().flat_map(explain).map(|step| step.detail).collect()
}

/// A text is searched for among the products that the index has for it, not by walking the list in its order.
#[test]
fn products_with_a_text_are_found_by_its_index() {
    let mut conn = SqliteConnection::establish(":memory:").unwrap();
    conn.run_pending_migrations(MIGRATIONS).unwrap();
    for text in ["text", "te", "t"] {
        let filter = TextFilter::new(text);
        let query = schema::products::table
            .select(schema::products::id)
            .filter(may_have_text(&filter))
            .filter(Contains::new(schema::products::search_key, std::slice::from_ref(&filter.text)))
            .order((schema::products::created_at, schema::products::id))
            .limit(21);
        let statement = diesel::debug_query::<diesel::sqlite::Sqlite, _>(&query).to_string();
        let statement = statement.split(" -- binds").next().unwrap_or_default().replace('?', "'x'");
        let explain = diesel::sql_query(format!("EXPLAIN QUERY PLAN {statement}"));
        let steps = diesel::RunQueryDsl::load::<Step>(explain, &mut conn).unwrap();
        let steps: Vec<_> = steps.into_iter().map(|step| step.detail).collect();
        assert!(steps.iter().any(|step| step.contains("VIRTUAL TABLE INDEX")), "{steps:?}");
        assert!(steps.iter().any(|step| step.starts_with("SEARCH products USING PRIMARY KEY")), "{steps:?}");
    }
}

/// Checks that each table is searched by an index, and that rows come in order unless `sorts`.
#[track_caller]
fn expect_searches(steps: &[String], sorts: bool) {
    assert!(steps.iter().any(|step| step.starts_with("SEARCH")), "{steps:?}");
    for step in steps {
        // Only the first of the accounts that are being erased is read.
        let may_walk = ["SCAN json_each", "SCAN e USING COVERING INDEX erasures_by_time"];
        let walks = step.starts_with("SCAN") && !may_walk.iter().any(|may| step.starts_with(may));
        assert!(!walks, "{step} in {steps:?}");
        assert!(sorts || !step.contains("TEMP B-TREE"), "{step} in {steps:?}");
    }
}

fn reader(n: u128) -> DbViewer {
    DbViewer::ordinary(Uuid::from_u128(n).into())
}

/// Returns the filters of the audit log to be tested.
fn audit_filters(n: u128) -> [AuditFilter; 6] {
    let (actor, target, action) =
        (Some(Actor::Account(Uuid::from_u128(n).into())), Some(Uuid::from_u128(n)), Some(Action::RoleAdded));
    let all = AuditFilter::default();
    [
        all,
        AuditFilter { actor, ..all },
        AuditFilter { actor: Some(Actor::CommandLine), ..all },
        AuditFilter { target, ..all },
        AuditFilter { action, ..all },
        AuditFilter { actor, action, ..all },
    ]
}

/// Returns parts of lists in both directions, from an end and from the middle.
fn slices() -> Vec<Slice> {
    let amid = Keyset { at: Timestamp::from_unix_millis(0), id: Uuid::from_u128(1) };
    let ways = [Toward::Older, Toward::Newer];
    ways.into_iter().flat_map(|toward| [None, Some(amid)].map(|after| Slice::new(toward, after, 21))).collect()
}

#[test]
fn reads_search_by_an_index_and_walk_it_in_order() {
    expect_searches(&steps(|conn| complete(posts::find(conn, id(2), reader(1)))), false);
    expect_searches(&steps(|conn| complete(posts::find_access(conn, id(2), id(1)))), false);
    expect_searches(&steps(|conn| complete(follows::find_standing(conn, id(1), id(2)))), false);
    expect_searches(&steps(|conn| complete(people::find(conn, id(1), id(2)))), false);
    expect_searches(&steps(|conn| complete(people::find_by_username(conn, "u".to_owned(), id(2)))), false);
    expect_searches(&steps(|conn| complete(people::find_all(conn, vec![id(1), id(2)], id(2)))), false);
    for slice in slices() {
        for sees_all in [false, true] {
            let viewer = DbViewer::of(Viewer { id: id(2).0.into(), sees_all });
            expect_searches(&steps(|conn| complete(people::list_followers(conn, id(1), viewer, slice, 21))), false);
            expect_searches(&steps(|conn| complete(people::list_followed(conn, id(1), viewer, slice))), false);
            expect_searches(&steps(|conn| complete(blocks::list_blocked(conn, viewer, slice))), false);
            expect_searches(&steps(|conn| complete(blocks::list_muted(conn, viewer, slice))), false);
        }
        let directory = steps(|conn| complete(people::list_discoverable(conn, reader(1), slice)));
        expect_searches(&directory, false);
        assert!(directory.iter().any(|step| step.contains("INDEX users_directory (")), "{directory:?}");
        expect_searches(&steps(|conn| complete(posts::list_likers(conn, id(2), reader(1), slice))), false);
        for filter in audit_filters(1) {
            expect_searches(&steps(|conn| complete(audit::list(conn, filter, slice))), false);
        }
        for kind in RelationKind::ALL {
            expect_searches(&steps(|conn| complete(exports::relations(conn, id(1), kind, slice))), false);
        }
        expect_searches(&steps(|conn| complete(exports::comments(conn, id(1), slice))), false);
        expect_searches(&steps(|conn| complete(exports::reports(conn, id(1), slice))), false);
        let live = steps(|conn| complete(sessions::list(conn, id(1), DbInstant::MIN, slice)));
        expect_searches(&live, false);
        expect_searches(&steps(|conn| complete(mail::list(conn, 0, 20))), false);
        for status in [None, Some(0)] {
            expect_searches(&steps(|conn| complete(reports::list(conn, status, slice))), false);
        }
        let all = steps(|conn| complete(comments::list(conn, id(2), reader(1), slice, 20)));
        expect_searches(&all, false);
        for index in ["INDEX comments_top_level (", "INDEX comments_replies_on_post ("] {
            assert!(all.iter().any(|step| step.contains(index)), "{all:?}");
        }
        let top_level = steps(|conn| complete(comments::list_top_level(conn, id(2), reader(1), slice, 20)));
        expect_searches(&top_level, false);
        assert!(top_level.iter().any(|step| step.contains("INDEX comments_top_level (")), "{top_level:?}");
        expect_searches(&steps(|conn| complete(comments::list_replies(conn, id(2), reader(1), slice, 20))), false);
        expect_searches(&steps(|conn| complete(comments::list_likers(conn, id(2), reader(1), slice))), false);
    }
}

/// Explains the statements of triggers by themselves: they are not among the steps of the statements that fire these.
#[test]
fn texts_that_are_no_longer_searched_are_found_by_an_index() {
    let mut conn = SqliteConnection::establish(":memory:").unwrap();
    conn.run_pending_migrations(MIGRATIONS).unwrap();
    for (table, by) in [("search_texts", ""), ("search_tail", " AND created_at = 0")] {
        let explain = format!("EXPLAIN QUERY PLAN DELETE FROM {table} WHERE kind = 0{by} AND id = x'00'");
        let steps = diesel::RunQueryDsl::load::<Step>(diesel::sql_query(explain), &mut conn).unwrap();
        let details: Vec<_> = steps.iter().map(|step| step.detail.as_str()).collect();
        assert!(details[0].ends_with("AND id=?)"), "{details:?}");
    }
}

#[test]
fn data_of_a_deleted_account_is_found_by_an_index() {
    let now = DbInstant(Timestamp::from_unix_millis(1));
    let account = ConfirmedPassword { user: UserId::new(id(1).0), password: PasswordHash::new(String::new()) };
    expect_searches(&steps(|conn| complete(deletion::delete(conn, account.clone(), now))), true);
    let erased = steps(|conn| {
        complete(deletion::delete(conn, account.clone(), now))?;
        let mut erased = Erased::default();
        while !erased.is_done {
            erased = complete(deletion::erase(conn, id(1), erased.next, now))?;
        }
        Ok(())
    });
    expect_searches(&erased, true);
}

#[test]
fn lists_of_everything_search_by_an_index_and_walk_it_in_order() {
    let (category, text) = (|| Some("c".to_owned()), || TextFilter::new("text"));
    for slice in slices() {
        expect_searches(&steps(|conn| complete(accounts::list(conn, slice))), false);
        expect_searches(&steps(|conn| complete(follows::list_followers(conn, id(1), reader(2), slice))), false);
        expect_searches(&steps(|conn| complete(follows::list_followed(conn, id(1), reader(2), slice))), false);
        expect_searches(&steps(|conn| complete(products::list_short(conn, slice))), false);
        expect_searches(&steps(|conn| complete(products::list(conn, None, slice))), false);
        expect_searches(&steps(|conn| complete(products::list(conn, category(), slice))), false);
        expect_searches(&steps(|conn| complete(products::search(conn, category(), text(), slice))), false);
    }
}

#[test]
fn a_search_finds_its_words_by_an_index() {
    let needles = Needles::of(&Query::parse("\"some text\" #tag be").unwrap(), None);
    let packing = Packing { documents: 1, ..Packing::SERVICE };
    let among =
        [Among::Posts { viewer: reader(1) }, Among::Accounts { viewer: reader(1), except: id(2) }, Among::Products];
    let mut are_words_searched = false;
    for slice in slices() {
        for among in among {
            let tail = steps(|conn| {
                complete(search::tail(conn, among, Contains::new(search_tail::words, &needles.contained), slice))
            });
            expect_searches(&tail, false);
            assert!(
                tail.iter().any(|step| step.contains("SEARCH search_tail USING PRIMARY KEY (kind=? AND created_at")),
                "{tail:?}"
            );
            // Texts in buckets are read in the order of their numbers.
            let checks = steps(|conn| {
                complete(search::look(conn, among, Contains::new(search_texts::words, &needles.contained), vec![1, 2]))
            });
            expect_searches(&checks, false);
            assert!(
                checks.iter().any(|step| step.contains("SEARCH search_texts USING PRIMARY KEY (kind=? AND document=?")),
                "{checks:?}"
            );
        }
        let later = Some(BucketPlace { at: DbInstant::MIN, id: id(1), bucket: 1 });
        for buckets in [Buckets::Next(None, 16), Buckets::Next(later, 16), Buckets::Numbered(vec![1, 2])] {
            let wanted = (needles.clone(), buckets);
            let found = steps(|conn| {
                let (needles, buckets) = wanted.clone();
                complete(search::candidates(conn, Kind::Post, needles, slice, buckets))
            });
            expect_searches(&found, false);
            let words = "SEARCH search_postings USING PRIMARY KEY (kind=? AND bucket=? AND word";
            are_words_searched |= found.iter().any(|step| step.starts_with(words));
        }
    }
    let rare = steps(|conn| {
        let Needles { keys, prefix, .. } = needles.clone();
        complete(search::rare_buckets(conn, Kind::Post, keys, prefix, 64))
    });
    expect_searches(&rare, false);
    let by_word = "SEARCH search_postings USING COVERING INDEX search_postings_word (kind=? AND word";
    assert!(rare.iter().all(|step| step.starts_with(by_word)), "{rare:?}");
    assert!(are_words_searched);
    expect_searches(&steps(|conn| complete(search::posts(conn, vec![id(2)], reader(1)))), true);
    expect_searches(&steps(|conn| complete(people::find_discoverable(conn, vec![id(1)], reader(1)))), true);
    expect_searches(&steps(|conn| complete(products::find_all(conn, vec![id(1)]))), true);
    expect_searches(&steps(|conn| complete(packing::find_deletion(conn, DbInstant::MAX))), false);
    for kind in Kind::ALL {
        expect_searches(&steps(|conn| complete(packing::count_to_pack(conn, kind, packing))), false);
        let pack = steps(|conn| complete(packing::pack(conn, kind, 1)));
        assert!(!pack.iter().any(|step| step.starts_with("SCAN search_")), "{pack:?}");
        let forget = steps(|conn| complete(packing::forget(conn, (kind_code(kind), 0), DbInstant::MAX)));
        assert!(!forget.iter().any(|step| step.starts_with("SCAN search_")), "{forget:?}");
        let unindexed = steps(|conn| complete(indexing::list_unindexed(conn, kind, 200)));
        assert!(unindexed.iter().all(|step| step.contains("_unindexed")), "{unindexed:?}");
    }
}

#[test]
fn posts_that_are_not_shown_are_skipped_by_the_index() {
    for slice in slices() {
        for steps in [
            steps(|conn| complete(posts::list_by_author(conn, id(1), [0, 1, 0], reader(1), slice))),
            steps(|conn| complete(feeds::positions(conn, id(1), [0, 1, 0], slice))),
        ] {
            let by_visibility = "posts_by_visibility (author_id=? AND visibility=? AND created_at";
            assert!(steps.iter().any(|step| step.contains(by_visibility)), "{steps:?}");
            assert!(!steps.iter().any(|step| step.contains("posts_timeline")), "{steps:?}");
        }
    }
}

#[test]
fn the_posts_of_a_hashtag_are_read_in_the_order_of_their_index() {
    let visible = VisiblePosts { viewer: reader(1), followed: [0, 1, 0], others: [0; 3] };
    for slice in slices() {
        let steps = steps(|conn| complete(timelines::list_by_tag(conn, "tag".to_owned(), visible, slice, 20)));
        expect_searches(&steps, true);
        let first = steps.first().map_or("", String::as_str);
        assert!(first.starts_with("SEARCH post_tags USING PRIMARY KEY (tag=? AND created_at"), "{steps:?}");
    }
}

#[test]
fn unresolved_texts_are_found_by_a_partial_index() {
    for (kind, table) in [(TextKind::Post, "posts"), (TextKind::Comment, "comments")] {
        let steps = steps(|conn| complete(texts::list_unresolved(conn, kind, id(3), 200)));
        assert_eq!(steps, [format!("SEARCH {table} USING INDEX {table}_unresolved (id<?)")]);
    }
    let count = steps(|conn| complete(texts::count_unresolved(conn)));
    assert!(count.iter().all(|step| step.contains("s_unresolved")), "{count:?}");
}

#[test]
fn images_are_found_by_their_keys_and_those_without_a_preview_by_a_partial_index() {
    let next = steps(|conn| complete(images::without_preview(conn, id(3))));
    assert_eq!(next, ["SEARCH posts USING INDEX posts_without_preview (id<?)"]);
    let next = steps(|conn| complete(images::without_small_picture(conn, id(3))));
    assert_eq!(next, ["SEARCH users USING INDEX users_without_small_picture (id<?)"]);
    let keys = || vec!["ab".to_owned(), "cd".to_owned()];
    for steps in [
        steps(|conn| complete(images::referenced_in(conn, 7))),
        steps(|conn| complete(images::referenced_of(conn, keys()))),
    ] {
        assert!(steps.iter().any(|step| step.contains("INDEX post_images_by_key (key")), "{steps:?}");
        assert!(!steps.iter().any(|step| step.starts_with("SCAN") && !step.contains("json_each")), "{steps:?}");
    }
    for (by, index) in [
        (ReferringRow::Post, "posts USING COVERING INDEX posts_image (image>?)"),
        (ReferringRow::FurtherOfPost, "post_images USING COVERING INDEX post_images_by_key (key>?)"),
        (ReferringRow::User, "users USING COVERING INDEX users_profile_picture (profile_picture>?)"),
    ] {
        let steps = steps(|conn| complete(images::referenced_after(conn, by, "ab".to_owned(), 500)));
        assert_eq!(steps, [format!("SEARCH {index}")]);
    }
    let uploads = steps(|conn| complete(images::find_uploads(conn, id(1), keys())));
    assert_eq!(uploads.first().map(String::as_str), Some("SEARCH unnamed_images USING PRIMARY KEY (key=?)"));
}

#[test]
fn reads_that_sort_what_they_show_search_by_an_index() {
    let visible = VisiblePosts { viewer: reader(1), followed: [0, 1, 0], others: [0; 3] };
    for slice in slices() {
        let public = steps(|conn| complete(timelines::list_public(conn, reader(1), slice, 20)));
        expect_searches(&public, true);
        assert!(
            public.iter().any(|step| step.contains("INDEX posts_timeline (visibility=? AND created_at")),
            "{public:?}"
        );
        let bookmarks = steps(|conn| complete(bookmarks::list(conn, visible, slice, 20)));
        expect_searches(&bookmarks, true);
        assert!(bookmarks.iter().any(|step| step.contains("INDEX bookmarks_by_time (")), "{bookmarks:?}");
        // Sorts the newest likers of each of several posts.
        expect_searches(&steps(|conn| complete(posts::list_all(conn, reader(1), slice))), true);
        expect_searches(&steps(|conn| complete(posts::list_by_author(conn, id(1), [0, 1, 2], reader(1), slice))), true);
        // Sorts the newest posts of each followed author.
        expect_searches(&steps(|conn| complete(feeds::positions(conn, id(1), [0, 1, 2], slice))), true);
        let wanted = FeedQuery { viewer: reader(1), visible: [0, 1, 2], toward: slice.toward, limit: 20 };
        let keys = || vec![Keyset { at: Timestamp::from_unix_millis(0), id: id(2).0 }];
        expect_searches(&steps(|conn| complete(feeds::read(conn, wanted, keys()))), true);
    }
}
