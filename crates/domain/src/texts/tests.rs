use std::sync::Arc;

use mockall::predicate::eq;
use uuid::Uuid;

use super::*;
use crate::accounts::MockAccountRepository;
use crate::entities::Entities;
use crate::error::Error;
use crate::id::UserId;

const AUTHOR: UserId = UserId::new(Uuid::from_u128(2));
const OTHER: UserId = UserId::new(Uuid::from_u128(3));

fn id(n: u128) -> Uuid {
    Uuid::from_u128(n)
}

fn unresolved(n: u128, text: &str) -> UnresolvedText {
    UnresolvedText { id: id(n), author: AUTHOR, text: text.to_owned() }
}

fn resolved(n: u128, text: &str, entities: &str) -> ResolvedText {
    ResolvedText { id: id(n), text: text.to_owned(), entities: Entities::restore(entities.to_owned()) }
}

#[tokio::test]
async fn the_entities_of_a_batch_are_resolved_for_each_author_and_stored_at_once() {
    for kind in TextKind::ALL {
        let (mut backlog, mut accounts) = (MockTextBacklog::new(), MockAccountRepository::new());
        let texts = || vec![unresolved(9, "@other #One"), unresolved(7, "@other"), unresolved(5, "plain")];
        backlog
            .expect_list()
            .once()
            .with(eq(kind), eq(Some(id(10))), eq(TextBackfill::BATCH))
            .returning(move |_, _, _| Ok(texts()));
        let known = |_: &[String], _: UserId| Ok([("other".to_owned(), OTHER)].into());
        accounts.expect_find_ids().times(2).withf(|keys, by| keys == ["other"] && *by == AUTHOR).returning(known);
        let expected = vec![
            resolved(9, "@other #One", &format!("0 6 @{OTHER}\n7 11 #one")),
            resolved(7, "@other", &format!("0 6 @{OTHER}")),
            resolved(5, "plain", ""),
        ];
        backlog.expect_store().once().with(eq(kind), eq(expected)).returning(|_, _| Ok(()));
        let backfill = TextBackfill::new(Arc::new(backlog), Arc::new(accounts));
        let batch = backfill.run(Some(TextPosition { kind, id: id(10) })).await.unwrap();
        assert_eq!(batch, Some(Batch { count: 3, last: TextPosition { kind, id: id(5) } }));
    }
}

#[tokio::test]
async fn comments_follow_after_the_last_post() {
    let mut backlog = MockTextBacklog::new();
    backlog
        .expect_list()
        .with(eq(TextKind::Post), eq(Some(id(9))), eq(TextBackfill::BATCH))
        .returning(|_, _, _| Ok(vec![]));
    backlog
        .expect_list()
        .with(eq(TextKind::Comment), eq(None), eq(TextBackfill::BATCH))
        .returning(|_, _, _| Ok(vec![unresolved(20, "plain")]));
    let expected = vec![resolved(20, "plain", "")];
    backlog.expect_store().once().with(eq(TextKind::Comment), eq(expected)).returning(|_, _| Ok(()));
    let backfill = TextBackfill::new(Arc::new(backlog), Arc::new(MockAccountRepository::new()));
    let batch = backfill.run(Some(TextPosition { kind: TextKind::Post, id: id(9) })).await.unwrap();
    assert_eq!(batch, Some(Batch { count: 1, last: TextPosition { kind: TextKind::Comment, id: id(20) } }));
}

#[tokio::test]
async fn the_backfill_ends_after_the_last_text_and_reports_failures() {
    let mut backlog = MockTextBacklog::new();
    backlog.expect_count().return_once(|| Ok(7));
    backlog.expect_list().times(2).withf(|_, before, _| before.is_none()).returning(|_, _, _| Ok(vec![]));
    let backfill = TextBackfill::new(Arc::new(backlog), Arc::new(MockAccountRepository::new()));
    assert_eq!((backfill.count().await.unwrap(), backfill.run(None).await.unwrap()), (7, None));

    let mut backlog = MockTextBacklog::new();
    backlog.expect_list().returning(|_, _, _| Ok(vec![unresolved(9, "plain")]));
    backlog.expect_store().once().returning(|_, _| Err(Error::unavailable("no connection")));
    let backfill = TextBackfill::new(Arc::new(backlog), Arc::new(MockAccountRepository::new()));
    assert!(matches!(backfill.run(None).await, Err(Error::Unavailable(_))));
}
