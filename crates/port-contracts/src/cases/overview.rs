//! The totals of what is stored.

use agora_domain::accounts::Session;
use agora_domain::mail::{MailKind, NewMail};
use agora_domain::overview::Totals;
use agora_domain::posts::{PostHiding, Visibility};
use agora_domain::reports::{ReportDecision, Verdict};

use super::mail::claim;
use crate::Repositories;
use crate::world::{World, email};

pub async fn the_totals_count_what_is_stored(db: Repositories) {
    let w = World::new(&db);
    let before = w.now();
    let count = async || db.overview.count(before).await.unwrap();
    let nothing = count().await;
    assert!(nothing.database_bytes.is_none_or(|bytes| bytes > 0), "{nothing:?}");
    let bytes = Totals { database_bytes: None, ..nothing };
    let zero = Totals {
        accounts: 0,
        posts: 0,
        comments: 0,
        products: 0,
        open_sessions: 0,
        open_reports: 0,
        waiting_mails: 0,
        dead_mails: 0,
        database_bytes: None,
    };
    assert_eq!(bytes, zero);

    let [ada, bob, gone] = w.users().await;
    db.deletions.delete(&w.confirmed(gone).await, w.now()).await.unwrap();
    let mut posts = Vec::new();
    for visibility in Visibility::ALL {
        posts.push(w.post_with(ada, |post| post.visibility = visibility).await.id);
    }
    let hiding = PostHiding { hidden: true, before: Vec::new(), after: Vec::new() };
    db.posts.set_hidden(posts[0], &hiding, &w.entry()).await.unwrap();
    db.posts.delete(posts[1], w.now()).await.unwrap();
    let comment = w.comment(posts[0], bob).await;
    w.reply(&comment, ada).await;
    w.product_with("one", |_| ()).await;
    w.follow(ada, bob).await;
    let (kept, ended) = (w.session(ada).await, w.session(bob).await);
    db.sessions.revoke(ended.id, w.now()).await.unwrap();
    let old = Session { id: w.id(), opened_at: before, ..kept };
    assert!(w.open(&old).await);
    let reports = [w.new_report(ada), w.new_report(bob)];
    for report in &reports {
        db.reports.create(report, &[], None).await.unwrap();
    }
    let decision = ReportDecision { verdict: Verdict::Resolved, note: None };
    db.reports.decide(reports[0].id, &decision, &w.entry()).await.unwrap();
    let mut mails = Vec::new();
    for user in [ada, bob, ada] {
        let (id, created_at) = (w.id(), w.now());
        let kind = MailKind::EmailChanged;
        mails.push(NewMail { id, user, kind, address: email("ada@example.org"), created_at });
        db.outbox.create(&mails[mails.len() - 1..]).await.unwrap();
    }
    let first = claim(&db, "token", w.now()).await;
    db.outbox.set_failed(first.id, "no such mailbox", true, w.now()).await.unwrap();
    db.outbox.set_sent(mails[1].id, w.now()).await.unwrap();

    let found = Totals { database_bytes: None, ..count().await };
    let expected = Totals {
        accounts: 2,
        posts: 2,
        comments: 2,
        products: 1,
        open_sessions: 1,
        open_reports: 1,
        waiting_mails: 1,
        dead_mails: 1,
        database_bytes: None,
    };
    assert_eq!(found, expected);
}
