//! Which lists are read from a replica.

use agora_domain::id::PostId;
use agora_domain::page::{Page, PageRequest};
use agora_domain::posts::{Liker, PostAccess, Visibility};
use agora_domain::products::Product;
use agora_domain::relation::Standing;
use agora_domain::replica::MockReadReplica;

use super::*;

/// Serves a catalog that only a replica has.
fn only_on_replica(replica: MockReadReplica) -> Client {
    let mut there = Ports::default();
    there.products.expect_version().returning(|| Ok(CatalogVersion::new(Uuid::nil())));
    there.products.expect_list().returning(|_, page: PageRequest| {
        Ok(page.page_of(Vec::<Product>::new(), |_| unreachable!("there is none")) as Page<Product>)
    });
    let replica = ReplicaServices { replica: Arc::new(replica), services: there.services() };
    let mut here = Ports::default();
    here.products.expect_version().returning(|| Err(Error::unavailable(SECRET)));
    here.start_beside(Some(replica))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_list_is_read_from_a_replica_that_is_current() {
    for (is_current, status) in [(true, 200), (false, 503)] {
        let mut replica = MockReadReplica::new();
        replica.expect_serves().withf(|user| user.is_none()).times(1).return_const(is_current);
        let api = only_on_replica(replica);
        assert_eq!(api.fetch(LISTING).await.status, status);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_no_list_and_whoever_may_have_written_are_answered_without_the_replica() {
    // It is not even asked.
    let api = only_on_replica(MockReadReplica::new());
    assert_eq!(get(&api, LISTING).await.status, 503, "with a token, of whomever");
    assert_eq!(api.fetch("/api/products/00000000-0000-0000-0000-000000000000/x").await.status, 404);
}

#[tokio::test(flavor = "multi_thread")]
async fn whoever_logs_in_may_have_registered_a_moment_ago() {
    let mut replica = MockReadReplica::new();
    replica.expect_record_write().withf(|user| *user == UserId::new(Uuid::nil())).once().returning(|_| Ok(()));
    let replica = ReplicaServices { replica: Arc::new(replica), services: Ports::default().services() };
    let (hasher, _) = SteppedHasher::new(|| Err(Error::unavailable(SECRET)));
    hasher.let_go.add_permits(1);
    log_in_beside(Ports { passwords: hasher, ..Ports::default() }, Some(replica)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_the_replica_has_not_yet_is_read_where_it_was_written() {
    let (id, author) = (PostId::new(Uuid::from_u128(2)), UserId::new(Uuid::from_u128(3)));
    let standing = Standing::Stranger;
    let access = PostAccess { id, author, visibility: Visibility::Public, is_hidden: false, standing };
    let mut there = Ports::default();
    there.posts.expect_find_access().once().returning(|_, _| Ok(None));
    let mut replica = MockReadReplica::new();
    replica.expect_serves().return_const(true);
    let replica = ReplicaServices { replica: Arc::new(replica), services: there.services() };
    let mut here = with_member();
    here.posts.expect_find_access().once().returning(move |_, _| Ok(Some(access)));
    here.posts
        .expect_list_likers()
        .once()
        .returning(|_, _, page| Ok(page.page_of(Vec::<Liker>::new(), |_| unreachable!())));
    let api = here.start_beside(Some(replica));
    get(&api, &format!("/api/posts/{}/likes", id.uuid())).await.expect(200);
}
