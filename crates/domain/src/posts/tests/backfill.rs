//! Working out what posts name of which that was not done when their text was written.

use super::*;

fn unresolved(n: u128, content: &str) -> UnresolvedText {
    UnresolvedText { post: PostId::new(Uuid::from_u128(n)), text: text(content) }
}

#[tokio::test]
async fn a_batch_is_worked_out_with_one_look_for_accounts_and_stored_together() {
    let (mut backlog, mut accounts) = (MockTextBacklog::new(), MockAccountRepository::new());
    let texts = || vec![unresolved(9, "@other #One"), unresolved(7, "@other"), unresolved(5, "plain")];
    backlog
        .expect_list()
        .once()
        .withf(|before, limit| (*before, *limit) == (Some(POST), TextBackfill::BATCH))
        .returning(move |_, _| Ok(texts()));
    let known = |_: &[String]| Ok([("other".to_owned(), OTHER)].into());
    accounts.expect_find_ids().once().withf(|keys| keys == ["other"]).returning(known);
    let expected: Vec<_> = texts()
        .into_iter()
        .zip([format!("0 6 @{OTHER}\n7 11 #one"), format!("0 6 @{OTHER}"), String::new()])
        .map(|(UnresolvedText { post, text }, named)| {
            let entities = Entities::restore(named);
            ResolvedText { post, text, entities }
        })
        .collect();
    backlog.expect_store().once().withf(move |texts| *texts == expected).returning(|_| Ok(()));
    let backfill = TextBackfill::new(Arc::new(backlog), Arc::new(accounts));
    let batch = backfill.run(Some(POST)).await.unwrap();
    assert_eq!(batch, Some(Batch { count: 3, last: PostId::new(Uuid::from_u128(5)) }));
}

#[tokio::test]
async fn there_is_an_end_and_a_failure_is_told() {
    let mut backlog = MockTextBacklog::new();
    backlog.expect_count().return_once(|| Ok(7));
    backlog.expect_list().once().withf(|before, _| before.is_none()).returning(|_, _| Ok(vec![]));
    let backfill = TextBackfill::new(Arc::new(backlog), Arc::new(MockAccountRepository::new()));
    assert_eq!((backfill.count().await.unwrap(), backfill.run(None).await.unwrap()), (7, None));

    let mut backlog = MockTextBacklog::new();
    backlog.expect_list().returning(|_, _| Ok(vec![unresolved(9, "plain")]));
    backlog.expect_store().once().returning(|_| Err(Error::unavailable("no connection")));
    let backfill = TextBackfill::new(Arc::new(backlog), Arc::new(MockAccountRepository::new()));
    assert!(matches!(backfill.run(None).await, Err(Error::Unavailable(_))));
}
