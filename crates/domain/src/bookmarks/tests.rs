use std::sync::Arc;

use mockall::predicate::eq;
use uuid::Uuid;

use super::*;
use crate::accounts::{Member, Role, Roles};
use crate::clock::Timestamp;
use crate::error::{Error, Forbidden, Resource};
use crate::fixtures::{clock, ids, member};
use crate::id::{PostId, RelationId, UserId};
use crate::page::{Page, PageRequest};
use crate::posts::{MockPostRepository, PostAccess, Visibility, VisibleTo};
use crate::relation::{NewRelation, Standing};

const ALICE: UserId = UserId::new(Uuid::from_u128(1));
const BOB: UserId = UserId::new(Uuid::from_u128(2));
const POST: PostId = PostId::new(Uuid::from_u128(3));
const NOW: Timestamp = Timestamp::from_unix_millis(7);

fn alice(roles: Roles) -> Member {
    member(ALICE, roles)
}

fn bookmarks(found: Option<Visibility>, expect: impl FnOnce(&mut MockBookmarkRepository)) -> Bookmarks {
    let (mut bookmarks, mut posts) = (MockBookmarkRepository::new(), MockPostRepository::new());
    expect(&mut bookmarks);
    let (author, is_hidden, standing) = (BOB, false, Standing::Stranger);
    let access = found.map(|visibility| PostAccess { id: POST, author, visibility, is_hidden, standing });
    posts.expect_find_access().with(eq(POST), eq(ALICE)).returning(move |_, _| Ok(access));
    let (clock, ids) = (clock(NOW), ids(Uuid::from_u128(9)));
    Bookmarks { bookmarks: Arc::new(bookmarks), posts: Arc::new(posts), clock, ids }
}

#[tokio::test]
async fn a_post_that_the_caller_may_view_can_be_bookmarked() {
    let bookmarks = bookmarks(Some(Visibility::Public), |bookmarks| {
        let new = NewRelation { id: RelationId::new(Uuid::from_u128(9)), at: NOW, notice: None };
        bookmarks.expect_set().with(eq(POST), eq(ALICE), eq(new)).once().returning(|_, _, _| Ok(()));
    });
    bookmarks.set(&alice(Roles::USER), POST).await.unwrap();
}

#[tokio::test]
async fn a_post_that_the_caller_may_not_view_cannot_be_bookmarked() {
    let hidden = bookmarks(Some(Visibility::Private), |_| ()).set(&alice(Roles::USER), POST).await;
    assert!(matches!(hidden, Err(Error::Forbidden(Forbidden::PostNotVisible))));
    let missing = bookmarks(None, |_| ()).set(&alice(Roles::USER), POST).await;
    assert!(matches!(missing, Err(Error::NotFound(Resource::Post))));
}

#[tokio::test]
async fn a_bookmark_is_removed_also_from_a_post_that_the_caller_may_no_longer_view() {
    let bookmarks = bookmarks(Some(Visibility::Private), |bookmarks| {
        bookmarks.expect_unset().with(eq(POST), eq(ALICE)).once().returning(|_, _| Ok(true));
    });
    bookmarks.unset(&alice(Roles::USER), POST).await.unwrap();
}

#[tokio::test]
async fn the_list_shows_what_the_caller_may_view() {
    for (roles, others) in
        [(Roles::USER, &[Visibility::Public][..]), (Roles::NONE.with(Role::Admin, true), &Visibility::ALL[..])]
    {
        let bookmarks = bookmarks(None, |bookmarks| {
            let is_expected = move |visible: &VisibleTo| visible.viewer.id == ALICE && visible.others == others;
            bookmarks
                .expect_list()
                .withf(move |visible, _| is_expected(visible))
                .once()
                .returning(|_, _| Ok(Page { items: Vec::new(), keys: Vec::new(), prev: None, next: None }));
        });
        bookmarks.list(&alice(roles), PageRequest::PART).await.unwrap();
    }
}
