use std::sync::Arc;

use mockall::predicate::eq;
use uuid::Uuid;

use super::*;
use crate::accounts::{Account, Admin, Member, MockAccountRepository, Role, Roles, Username};
use crate::audit::{Action, Actor, AuditEntry, Target};
use crate::clock::Timestamp;
use crate::comments::{CommentAccess, MockCommentRepository};
use crate::error::{Error, Resource, Result, ViolationKind};
use crate::fixtures::{self, caller, clock, ids, member, person};
use crate::id::{CommentId, PostId, ReportId, UserId};
use crate::idempotency::{Attempt, Outcome};
use crate::limits::Allowance;
use crate::notices::{MAX_REPORT_NOTICES, Notice, NotificationKind, Subject};
use crate::people::{MockPeopleRepository, Person};
use crate::posts::{MockPostRepository, PostAccess, Visibility};
use crate::relation::Standing;

const ALICE: UserId = UserId::new(Uuid::from_u128(1));
const BOB: UserId = UserId::new(Uuid::from_u128(2));
const POST: PostId = PostId::new(Uuid::from_u128(3));
const COMMENT: CommentId = CommentId::new(Uuid::from_u128(4));
const ID: Uuid = Uuid::from_u128(9);
const NOW: Timestamp = Timestamp::from_unix_millis(7);

fn alice() -> Member {
    member(ALICE, Roles::USER)
}

fn admin() -> Admin {
    caller(ALICE, Roles::NONE.with(Role::Admin, true)).admin().unwrap()
}

fn account(n: u128, enabled: bool) -> Account {
    let roles = Roles::NONE.with(Role::Admin, true);
    Account { roles, enabled, ..fixtures::account(UserId::new(Uuid::from_u128(n)), "admin") }
}

fn bob() -> Person {
    person(BOB, "bob")
}

fn access(visibility: Visibility, standing: Standing) -> PostAccess {
    PostAccess { id: POST, author: BOB, visibility, is_hidden: false, standing }
}

/// The ports; a call that is not expected fails the test. The time is `NOW`, and the new id `ID`.
#[derive(Default)]
struct Ports {
    reports: MockReportRepository,
    posts: MockPostRepository,
    comments: MockCommentRepository,
    people: MockPeopleRepository,
    accounts: MockAccountRepository,
}

impl Ports {
    fn build(self) -> Reports {
        Reports {
            reports: Arc::new(self.reports),
            posts: Arc::new(self.posts),
            comments: Arc::new(self.comments),
            people: Arc::new(self.people),
            accounts: Arc::new(self.accounts),
            clock: clock(NOW),
            ids: ids(ID),
        }
    }
}

fn fields(target: ReportTarget) -> ReportFields {
    ReportFields { target, category: ReportCategory::Spam, comment: ReportComment::parse("Look").unwrap() }
}

fn report(target: ReportTarget) -> Report {
    let ReportFields { target, category, comment } = fields(target);
    let (id, reporter, status) = (ReportId::new(ID), ALICE, ReportStatus::Open);
    Report { id, created_at: NOW, reporter, target, category, comment, status, note: None }
}

#[tokio::test]
async fn a_report_notifies_enabled_administrators_except_the_reporter_and_the_reported_user() {
    for (target, subject) in [
        (ReportTarget::Post(POST), Subject::Post(POST)),
        (ReportTarget::Comment(COMMENT), Subject::Comment(POST, COMMENT)),
        (ReportTarget::User(BOB), Subject::Recipient),
    ] {
        let mut ports = Ports::default();
        ports.posts.expect_find_access().returning(|_, _| Ok(Some(access(Visibility::Public, Standing::Stranger))));
        ports.comments.expect_find_access().returning(|_, _| {
            let (post, standing) = (access(Visibility::Public, Standing::Stranger), Standing::Stranger);
            let (parent, is_hidden, hidden_thread) = (None, false, None);
            Ok(Some(CommentAccess { id: COMMENT, author: BOB, parent, standing, is_hidden, hidden_thread, post }))
        });
        ports.people.expect_find().with(eq(BOB), eq(ALICE)).returning(|_, _| Ok(Some(bob())));
        ports.accounts.expect_list_admins().returning(|| {
            Ok([(1, true), (2, true), (5, true), (6, false), (7, true)].map(|(n, on)| account(n, on)).into())
        });
        ports
            .reports
            .expect_create()
            .once()
            .withf(move |made, notices, attempt| {
                let notice = |n| {
                    let (kind, recipient) = (NotificationKind::Report, UserId::new(Uuid::from_u128(n)));
                    Notice { id: ID.into(), kind, recipient, actor: ALICE, subject, at: NOW }
                };
                *made == report(target) && notices == [notice(5), notice(7)] && attempt.is_none()
            })
            .returning(|made, _, _| Ok(Reported::Created(made.id)));
        let made = ports.build().create(&alice(), fields(target), Attempt::Unnamed).await.unwrap();
        assert_eq!(made, Reported::Created(ReportId::new(ID)));
    }
}

#[tokio::test]
async fn only_a_limited_number_of_administrators_is_notified() {
    let mut ports = Ports::default();
    ports.people.expect_find().returning(|_, _| Ok(Some(bob())));
    ports.accounts.expect_list_admins().returning(|| Ok((10..100).map(|n| account(n, true)).collect()));
    ports
        .reports
        .expect_create()
        .once()
        .withf(|_, notices, _| notices.len() == MAX_REPORT_NOTICES)
        .returning(|made, _, _| Ok(Reported::Created(made.id)));
    ports.build().create(&alice(), fields(ReportTarget::User(BOB)), Attempt::Unnamed).await.unwrap();
}

#[tokio::test]
async fn reporters_may_report_only_what_they_may_view_with_blocks_disregarded() {
    let create = async |mut ports: Ports, target| -> Result<()> {
        ports.accounts.expect_list_admins().returning(|| Ok(vec![]));
        ports.reports.expect_create().returning(|made, _, _| Ok(Reported::Created(made.id)));
        ports.build().create(&alice(), fields(target), Attempt::Unnamed).await.map(drop)
    };
    for (visibility, standing, is_allowed) in [
        (Visibility::Public, Standing::Stranger, true),
        (Visibility::Public, Standing::Blocked, true),
        (Visibility::Followers, Standing::Follower, true),
        (Visibility::Followers, Standing::Blocked, false),
        (Visibility::Private, Standing::Follower, false),
    ] {
        let mut ports = Ports::default();
        ports.posts.expect_find_access().returning(move |_, _| Ok(Some(access(visibility, standing))));
        match create(ports, ReportTarget::Post(POST)).await {
            Ok(()) => assert!(is_allowed),
            Err(Error::Forbidden(_)) => assert!(!is_allowed),
            Err(other) => panic!("{other:?}"),
        }
        let mut ports = Ports::default();
        ports.comments.expect_find_access().returning(move |_, _| {
            let (post, parent, is_hidden, hidden_thread) = (access(visibility, standing), None, false, None);
            let standing = Standing::Blocked;
            Ok(Some(CommentAccess { id: COMMENT, author: BOB, parent, standing, is_hidden, hidden_thread, post }))
        });
        assert_eq!(create(ports, ReportTarget::Comment(COMMENT)).await.is_ok(), is_allowed);
    }
    for (found, is_allowed) in [
        (Some(Person { blocks_viewer: true, ..bob() }), true),
        (Some(Person { enabled: false, ..bob() }), false),
        (None, false),
    ] {
        let mut ports = Ports::default();
        ports.people.expect_find().returning(move |_, _| Ok(found.clone()));
        match create(ports, ReportTarget::User(BOB)).await {
            Ok(()) => assert!(is_allowed),
            Err(Error::NotFound(Resource::User)) => assert!(!is_allowed),
            Err(other) => panic!("{other:?}"),
        }
    }
}

#[tokio::test]
async fn a_hidden_post_cannot_be_reported_and_a_retried_request_returns_the_earlier_report() {
    let mut ports = Ports::default();
    let hidden = PostAccess { is_hidden: true, ..access(Visibility::Public, Standing::Stranger) };
    ports.posts.expect_find_access().returning(move |_, _| Ok(Some(hidden)));
    let reported = ports.build().create(&alice(), fields(ReportTarget::Post(POST)), Attempt::Unnamed).await;
    assert!(matches!(reported, Err(Error::NotFound(Resource::Post))));
    let id = ReportId::new(ID);
    for (outcome, before) in
        [(Outcome::ReportCreated(id), Reported::Created(id)), (Outcome::ReportFound(id), Reported::AlreadyOpen(id))]
    {
        let again = Attempt::Replay(outcome);
        let reported = Ports::default().build().create(&alice(), fields(ReportTarget::Post(POST)), again).await;
        assert_eq!(reported.unwrap(), before);
    }
}

#[tokio::test]
async fn a_decision_is_recorded_with_the_actor_and_the_note() {
    for (verdict, action, note) in
        [(Verdict::Resolved, Action::ReportResolved, Some("Hidden")), (Verdict::Rejected, Action::ReportRejected, None)]
    {
        for is_operator in [false, true] {
            let mut ports = Ports::default();
            ports.reports.expect_find().returning(|_| {
                let reporter = crate::accounts::UserPreview {
                    id: ALICE,
                    username: Username::parse("alice").unwrap(),
                    display_name: None,
                    profile_picture: None,
                };
                Ok(Some(ReportView { report: report(ReportTarget::Post(POST)), reporter, reported_comment: None }))
            });
            ports
                .reports
                .expect_decide()
                .once()
                .withf(move |id, decision, entry| {
                    let actor = if is_operator { Actor::CommandLine } else { Actor::Account(ALICE) };
                    let (target, details) = (Target::Report(*id), note.map(str::to_owned));
                    let expected = AuditEntry { id: ID.into(), at: NOW, actor, action, target, details };
                    *id == ReportId::new(ID) && decision.verdict == verdict && *entry == expected
                })
                .returning(|_, _, _| Ok(()));
            let reports = ports.build();
            let managed = match is_operator {
                true => reports.managed_by_operator(ReportId::new(ID)).await.unwrap(),
                false => reports.managed(&admin(), ReportId::new(ID)).await.unwrap(),
            };
            let note = note.and_then(|note| ReportNote::parse(note).unwrap());
            reports.decide(managed, &ReportDecision { verdict, note }).await.unwrap();
        }
    }
    let mut ports = Ports::default();
    ports.reports.expect_find().returning(|_| Ok(None));
    let missing = ports.build().managed(&admin(), ReportId::new(ID)).await;
    assert!(matches!(missing, Err(Error::NotFound(Resource::Report))));
}

#[test]
fn the_limit_resets_when_the_oldest_report_is_an_hour_old() {
    for (now, expected) in [(7, 3_600), (8, 3_600), (1_007, 3_599), (3_600_006, 1), (3_600_007, 0), (-5, 3_601)] {
        let Error::TooMany(allowance) = Report::too_many(NOW, Timestamp::from_unix_millis(now)) else { panic!() };
        assert_eq!(allowance, Allowance { limit: REPORTS_AN_HOUR, remaining: 0, reset_seconds: expected }, "{now}");
    }
}

#[test]
fn names_and_texts_parse() {
    for kind in ReportTargetKind::ALL {
        assert_eq!(kind.as_str().parse(), Ok(kind));
        let target = ReportTarget::of(kind, ID);
        assert_eq!((target.kind(), target.id()), (kind, ID));
    }
    for category in ReportCategory::ALL {
        assert_eq!(category.as_str().parse(), Ok(category));
    }
    for status in ReportStatus::ALL {
        assert_eq!(status.as_str().parse(), Ok(status));
        let verdict = status.as_str().parse::<Verdict>().map(Verdict::status);
        assert_eq!(verdict.ok(), Some(status).filter(|status| *status != ReportStatus::Open));
    }
    assert_eq!(ReportComment::parse(" \n ").unwrap(), None);
    assert_eq!(ReportNote::parse(" a ").unwrap().unwrap().as_str(), "a");
    assert_eq!(ReportNote::parse(&"a".repeat(1_001)).unwrap_err().kind(), ViolationKind::TooLong);
}
