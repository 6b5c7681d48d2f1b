//! Which lists are read from a replica.

use agora_domain::id::PostId;
use agora_domain::page::{Page, PageRequest};
use agora_domain::posts::{Liker, PostAccess, Visibility};
use agora_domain::products::Product;
use agora_domain::relation::Standing;
use agora_domain::replica::MockReadReplica;

use super::*;

/// Starts a server whose catalog can be read from a replica only.
fn start_with_catalog_on_replica(replica: MockReadReplica) -> Client {
    let mut on_replica = Ports::default();
    on_replica.products.expect_version().returning(|| Ok(CatalogVersion::new(Uuid::nil())));
    on_replica.products.expect_list().returning(|_, page: PageRequest| {
        Ok(page.page_of(Vec::<Product>::new(), |_| unreachable!("there is none")) as Page<Product>)
    });
    let replica = ReplicaServices { replica: Arc::new(replica), services: on_replica.services() };
    let mut on_primary = Ports::default();
    on_primary.products.expect_version().returning(|| Err(Error::unavailable(SECRET)));
    on_primary.start_with_replica(Some(replica))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_list_is_read_from_a_replica_that_is_current() {
    for (is_current, status) in [(true, 200), (false, 503)] {
        let mut replica = MockReadReplica::new();
        replica.expect_serves().withf(|user| user.is_none()).times(1).return_const(is_current);
        let api = start_with_catalog_on_replica(replica);
        assert_eq!(api.fetch(LISTING).await.status, status);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn other_endpoints_and_public_lists_with_a_token_are_not_read_from_the_replica() {
    // The replica is not even asked: the mock would panic.
    let api = start_with_catalog_on_replica(MockReadReplica::new());
    assert_eq!(get(&api, LISTING).await.status, 503, "with a token, of whomever");
    assert_eq!(api.fetch("/api/products/00000000-0000-0000-0000-000000000000/x").await.status, 404);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_login_is_recorded_as_a_write_since_the_account_may_be_new() {
    let mut replica = MockReadReplica::new();
    replica.expect_record_write().withf(|user| *user == UserId::new(Uuid::nil())).once().returning(|_| Ok(()));
    let replica = ReplicaServices { replica: Arc::new(replica), services: Ports::default().services() };
    let (hasher, _) = SteppedHasher::new(|| Err(Error::unavailable(SECRET)));
    hasher.permits.add_permits(1);
    log_in_with_replica(Ports { passwords: hasher, ..Ports::default() }, Some(replica)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_missing_on_the_replica_is_read_from_the_primary() {
    let (id, author) = (PostId::new(Uuid::from_u128(2)), UserId::new(Uuid::from_u128(3)));
    let standing = Standing::Stranger;
    let access = PostAccess { id, author, visibility: Visibility::Public, is_hidden: false, standing };
    let mut on_replica = Ports::default();
    on_replica.posts.expect_find_access().once().returning(|_, _| Ok(None));
    let mut replica = MockReadReplica::new();
    replica.expect_serves().return_const(true);
    let replica = ReplicaServices { replica: Arc::new(replica), services: on_replica.services() };
    let mut on_primary = with_member();
    on_primary.posts.expect_find_access().once().returning(move |_, _| Ok(Some(access)));
    on_primary
        .posts
        .expect_list_likers()
        .once()
        .returning(|_, _, page| Ok(page.page_of(Vec::<Liker>::new(), |_| unreachable!())));
    let api = on_primary.start_with_replica(Some(replica));
    get(&api, &format!("/api/posts/{}/likes", id.uuid())).await.expect(200);
}
