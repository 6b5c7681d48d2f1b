//! Reports of users to the administrators.

use agora_domain::Error;
use agora_domain::accounts::Viewer;
use agora_domain::audit_log::AuditFilter;
use agora_domain::error::Resource;
use agora_domain::id::UserId;
use agora_domain::limits::Allowance;
use agora_domain::notices::{Notice, NotificationKind, Subject};
use agora_domain::page::PageRequest;
use agora_domain::posts::{Visibility, VisibleTo};
use agora_domain::reports::{
    REPORTS_AN_HOUR, Report, ReportCategory, ReportComment, ReportDecision, ReportNote, ReportStatus, ReportTarget,
    ReportTargetKind, ReportView, Reported, ReportedComment, Verdict,
};

use super::notifications::member;
use crate::Repositories;
use crate::run::{assert_fails, concurrently, pages};
use crate::world::{ODD_TEXTS, World, at, preview};

async fn create(db: &Repositories, report: &Report) -> Reported {
    db.reports.create(report, &[], None).await.unwrap()
}

pub async fn a_report_is_stored_with_every_field(db: Repositories) {
    let w = World::new(&db);
    let ada = w.account("Ada").await;
    let mut expected = Vec::new();
    for (n, text) in ODD_TEXTS.into_iter().enumerate() {
        let target = ReportTarget::of(ReportTargetKind::ALL[n % 3], w.id::<agora_domain::id::PostId>().uuid());
        let (category, comment) = (ReportCategory::ALL[n % 4], ReportComment::parse(text).unwrap());
        let report = Report { target, category, comment: comment.filter(|_| n % 5 > 0), ..w.new_report(ada.id) };
        assert_eq!(create(&db, &report).await, Reported::Created(report.id));
        expected.push(ReportView { report, reporter: preview(&ada), reported_comment: None });
    }
    for view in &expected {
        assert_eq!(db.reports.find(view.report.id).await.unwrap().as_ref(), Some(view));
    }
    assert_eq!(db.reports.find(w.id()).await.unwrap(), None);
    expected.reverse();
    for status in [None, Some(ReportStatus::Open)] {
        assert_eq!(pages(3, async |page| db.reports.list(status, page).await).await, expected);
    }
    assert_eq!(pages(3, async |page| db.reports.list(Some(ReportStatus::Resolved), page).await).await, []);
}

pub async fn a_report_shows_the_reported_comment_while_it_exists(db: Repositories) {
    let w = World::new(&db);
    let (ada, bob) = (w.account("Ada").await, w.account("Bob").await);
    let post = w.post(ada.id).await.id;
    let comment = w.comment(post, bob.id).await;
    let report = |target| Report { target, ..w.new_report(ada.id) };
    let deleted = w.comment(post, bob.id).await;
    let of_deleted = report(ReportTarget::Comment(deleted.id));
    let (about, beside) = (report(ReportTarget::Comment(comment.id)), report(ReportTarget::User(bob.id)));
    for report in [&of_deleted, &about, &beside] {
        create(&db, report).await;
    }
    db.comments.delete(deleted.id).await.unwrap();
    assert_eq!(db.reports.find(of_deleted.id).await.unwrap().unwrap().reported_comment, None);
    let shown = async || {
        let found = db.reports.find(about.id).await.unwrap().unwrap();
        let listed = db.reports.list(None, PageRequest::FIRST).await.unwrap().items;
        assert_eq!(listed[1], found);
        assert_eq!(listed[0].reported_comment, None);
        found.reported_comment
    };
    let expected = ReportedComment { post, author: preview(&bob), content: comment.content.clone(), is_hidden: false };
    assert_eq!(shown().await, Some(expected));
    w.like(post, bob.id).await;
    db.posts.delete(post, at(1)).await.unwrap();
    assert_eq!(shown().await, None, "even before it is erased");

    let eve = w.account("Eve").await.id;
    let of_eve = w.post(eve).await.id;
    let beneath = report(ReportTarget::Comment(w.comment(of_eve, bob.id).await.id));
    create(&db, &beneath).await;
    assert!(db.reports.find(beneath.id).await.unwrap().unwrap().reported_comment.is_some());
    db.deletions.delete(&w.confirmed(eve).await, w.now()).await.unwrap();
    assert_eq!(db.reports.find(beneath.id).await.unwrap().unwrap().reported_comment, None, "even before it is erased");
}

pub async fn a_thing_is_reported_once_until_the_report_is_decided(db: Repositories) {
    let w = World::new(&db);
    let [ada, bob] = w.users().await;
    let first = w.new_report(ada);
    assert_eq!(create(&db, &first).await, Reported::Created(first.id));
    let again = || Report { target: first.target, ..w.new_report(ada) };
    assert_eq!(create(&db, &again()).await, Reported::AlreadyOpen(first.id));
    let others = [
        Report { target: first.target, ..w.new_report(bob) },
        Report { target: ReportTarget::of(ReportTargetKind::User, first.target.id()), ..w.new_report(ada) },
    ];
    for other in others {
        assert_eq!(create(&db, &other).await, Reported::Created(other.id));
    }
    let decision = ReportDecision { verdict: Verdict::Rejected, note: None };
    db.reports.decide(first.id, &decision, &w.entry()).await.unwrap();
    let second = again();
    assert_eq!(create(&db, &second).await, Reported::Created(second.id));
    let outcomes = concurrently((0..12).map(|_| {
        let (db, report) = (db.clone(), Report { target: ReportTarget::User(bob), ..w.new_report(ada) });
        async move { (create(&db, &report).await, report.id) }
    }))
    .await;
    let made: Vec<_> = outcomes.iter().filter(|(outcome, id)| *outcome == Reported::Created(*id)).collect();
    assert_eq!(made.len(), 1, "{outcomes:?}");
    assert!(
        outcomes.iter().all(|(outcome, _)| { *outcome == made[0].0 || *outcome == Reported::AlreadyOpen(made[0].1) })
    );
}

pub async fn the_reports_of_an_account_are_limited_per_hour(db: Repositories) {
    let w = World::new(&db);
    let [ada, bob] = w.users().await;
    let report_at = |user, millis| Report { created_at: at(millis), ..w.new_report(user) };
    let most = usize::try_from(REPORTS_AN_HOUR.most).unwrap();
    let outcomes = concurrently((0..most + 10).map(|n| {
        let (db, report) = (db.clone(), report_at(ada, 1_000 + i64::try_from(n).unwrap()));
        async move { (db.reports.create(&report, &[], None).await, report) }
    }))
    .await;
    let (made, refused): (Vec<_>, Vec<_>) = outcomes.into_iter().partition(|(outcome, _)| outcome.is_ok());
    assert_eq!((made.len(), refused.len()), (most, 10));
    let (_, open) = &made[0];
    let again = Report { target: open.target, ..report_at(ada, 2_000) };
    assert_eq!(create(&db, &again).await, Reported::AlreadyOpen(open.id), "no new report is created");
    assert_eq!(create(&db, &report_at(bob, 2_000)).await, Reported::Created(report_id(&db).await));

    let oldest = made.iter().map(|(_, report)| report.created_at).min().unwrap();
    let hour = REPORTS_AN_HOUR.period_millis();
    let late = |millis| Report { created_at: oldest.plus_millis(millis), ..w.new_report(ada) };
    match db.reports.create(&late(hour - 1_500), &[], None).await {
        Err(Error::TooMany(Allowance { limit, remaining: 0, reset_seconds: 2 })) => assert_eq!(limit, REPORTS_AN_HOUR),
        other => panic!("{other:?}"),
    }
    let report = late(hour);
    assert_eq!(create(&db, &report).await, Reported::Created(report.id));

    // Those of a time when the clock was far ahead do not count once it is right.
    for n in 0..=i64::from(REPORTS_AN_HOUR.most) {
        let made = db.reports.create(&report_at(bob, 1_000 * hour + n), &[], None).await;
        assert_eq!(made.is_ok(), n < i64::from(REPORTS_AN_HOUR.most));
    }
    let report = report_at(bob, 3_000);
    assert_eq!(create(&db, &report).await, Reported::Created(report.id));
    assert_fails!(db.reports.create(&report_at(w.id(), 0), &[], None).await, Error::NotFound(Resource::User));
}

async fn report_id(db: &Repositories) -> agora_domain::id::ReportId {
    db.reports.list(None, PageRequest::FIRST).await.unwrap().items[0].report.id
}

pub async fn a_decision_is_stored_and_recorded_and_can_be_changed(db: Repositories) {
    let w = World::new(&db);
    let [ada] = w.users().await;
    let report = w.new_report(ada);
    create(&db, &report).await;
    let note = |text: &str| ReportNote::parse(text).unwrap();
    let mut recorded = Vec::new();
    for (verdict, note, has_changed) in [
        (Verdict::Resolved, note("Deleted"), true),
        (Verdict::Resolved, note("Deleted"), false),
        (Verdict::Resolved, note("Hidden"), true),
        (Verdict::Rejected, None, true),
        (Verdict::Rejected, None, false),
    ] {
        let (decision, entry) = (ReportDecision { verdict, note: note.clone() }, w.entry());
        db.reports.decide(report.id, &decision, &entry).await.unwrap();
        let found = db.reports.find(report.id).await.unwrap().unwrap().report;
        assert_eq!(found, Report { status: verdict.status(), note, ..report.clone() });
        if has_changed {
            recorded.push(entry);
        }
    }
    let rejected = pages(3, async |page| db.reports.list(Some(ReportStatus::Rejected), page).await).await;
    assert_eq!(rejected.len(), 1);
    let log = db.audit.list(AuditFilter::default(), PageRequest::FIRST).await.unwrap().items;
    assert_eq!(log.into_iter().rev().map(|view| view.entry).collect::<Vec<_>>(), recorded);
    let decision = ReportDecision { verdict: Verdict::Resolved, note: None };
    assert_fails!(db.reports.decide(w.id(), &decision, &w.entry()).await, Error::NotFound(Resource::Report));
}

/// Returns what an administrator may view.
const fn admin(id: UserId) -> VisibleTo {
    let all = &Visibility::ALL;
    VisibleTo { viewer: Viewer { id, sees_all: true }, followed: all, others: all }
}

/// Reports something, and notifies an administrator of it.
async fn report(db: &Repositories, w: &World, reporter: UserId, subject: Subject, recipient: UserId) -> Reported {
    let target = match subject {
        Subject::Recipient => ReportTarget::User(recipient),
        Subject::Post(post) => ReportTarget::Post(post),
        Subject::Comment(_, comment) => ReportTarget::Comment(comment),
    };
    let notice =
        Notice { id: w.id(), kind: NotificationKind::Report, recipient, actor: reporter, subject, at: w.now() };
    db.reports.create(&Report { target, ..w.new_report(reporter) }, &[notice], None).await.unwrap()
}

pub async fn administrators_are_notified_of_reports_despite_blocks_but_not_mutes(db: Repositories) {
    let w = World::new(&db);
    let [ada, root] = w.users().await;
    let unread = async || db.notifications.count_unread(admin(root)).await.unwrap();
    for expected in 1..3 {
        report(&db, &w, ada, Subject::Post(w.post(root).await.id), root).await;
        assert_eq!(unread().await, expected);
        w.block(ada, root).await;
        assert_eq!(unread().await, expected);
    }
    w.mute(root, ada, None).await;
    assert_eq!(unread().await, 0);
    report(&db, &w, ada, Subject::Post(w.post(root).await.id), root).await;
    assert_eq!(unread().await, 0);
}

pub async fn a_report_notification_disappears_with_the_author_of_the_comment(db: Repositories) {
    let w = World::new(&db);
    let [ada, bob, root] = w.users().await;
    let post = w.post(ada).await.id;
    let comment = w.comment(post, bob).await.id;
    report(&db, &w, ada, Subject::Comment(post, comment), root).await;
    let count_listed = async || db.notifications.list(admin(root), &[], PageRequest::FIRST).await.unwrap().items.len();
    assert_eq!(count_listed().await, 1);
    db.deletions.delete(&w.confirmed(bob).await, w.now()).await.unwrap();
    assert_eq!((count_listed().await, db.notifications.count_unread(admin(root)).await.unwrap()), (0, 0));
}

pub async fn administrators_are_notified_of_a_new_report_and_others_do_not_see_it(db: Repositories) {
    let w = World::new(&db);
    let [ada, bob] = w.users().await;
    let post = w.post(bob).await.id;
    for is_created in [true, false] {
        let reported = report(&db, &w, ada, Subject::Post(post), bob).await;
        assert_eq!(matches!(reported, Reported::Created(_)), is_created);
    }
    for (viewer, expected) in [(admin(bob), 1), (member(bob), 0)] {
        assert_eq!(db.notifications.count_unread(viewer).await.unwrap(), expected);
        let listed =
            db.notifications.list(viewer, &[NotificationKind::Report], PageRequest::FIRST).await.unwrap().items;
        assert_eq!(listed.len() as u64, expected);
        for notification in listed {
            assert_eq!(
                (notification.kind, notification.count, notification.post.map(|post| post.id)),
                (NotificationKind::Report, 1, Some(post))
            );
            assert_eq!(notification.actors.iter().map(|actor| actor.id).collect::<Vec<_>>(), [ada]);
        }
    }
}
