//! The right to view posts, and likes.

use super::*;
use crate::accounts::Viewer;
use crate::entities::Hashtag;
use crate::id::NotificationId;
use crate::idempotency::{Attempt, AttemptId, Outcome};
use crate::notices::{Notice, NotificationKind, Subject};

/// Each kind of viewer: a name, the viewer, their relation to the author, and the visibilities that they may view.
fn viewers() -> [(&'static str, Member, Standing, &'static [Visibility]); 8] {
    const FOLLOWERS: &[Visibility] = &[Visibility::Public, Visibility::Followers];
    [
        ("author", author(), Standing::Stranger, &Visibility::ALL),
        ("ADMIN", member(OTHER, Roles::ADMIN_AND_USER), Standing::Stranger, &Visibility::ALL),
        ("ADMIN without USER", member(OTHER, ADMIN), Standing::Stranger, &Visibility::ALL),
        ("ADMIN who follows", member(OTHER, ADMIN), Standing::Follower, &Visibility::ALL),
        ("blocked ADMIN", member(OTHER, ADMIN), Standing::Blocked, &Visibility::ALL),
        ("follower", member(OTHER, Roles::USER), Standing::Follower, FOLLOWERS),
        ("stranger", member(OTHER, Roles::USER), Standing::Stranger, &[Visibility::Public]),
        ("blocked", member(OTHER, Roles::USER), Standing::Blocked, &[]),
    ]
}

/// Asserts that the call succeeds exactly if it is allowed. Otherwise the post is not found by those separated from the author
/// by a block, and forbidden to all others.
fn assert_rejected_unless<T>(allowed: bool, standing: Standing, result: Result<T>, case: &str) {
    match (result, standing) {
        (Ok(_), _) => assert!(allowed, "{case}"),
        (Err(Error::NotFound(Resource::Post)), Standing::Blocked) => assert!(!allowed, "{case}"),
        (Err(Error::Forbidden(_)), Standing::Stranger | Standing::Follower) => assert!(!allowed, "{case}"),
        (Err(error), _) => panic!("{case}: {error:?}"),
    }
}

#[tokio::test]
async fn a_post_is_shown_to_those_who_may_view_it() {
    for (who, viewer, standing, may_view) in viewers() {
        for visibility in Visibility::ALL {
            let mut ports = Ports::default();
            let found = move || FoundPost { view: view(Post { visibility, ..post("hello", None) }), standing };
            ports
                .posts
                .expect_find()
                .once()
                .withf(move |id, by| (*id, *by) == (POST, viewer.viewer()))
                .returning(move |_, _| Ok(Some(found())));
            let shown = ports.build().get(&viewer, POST).await;
            let allowed = may_view.contains(&visibility);
            if let Ok(shown) = &shown {
                assert_eq!(*shown, found().view);
            }
            assert_rejected_unless(allowed, standing, shown, &format!("{who}, {visibility:?}"));
        }
    }
}

#[tokio::test]
async fn liking_and_listing_likers_require_the_right_to_view_the_post() {
    for (who, viewer, standing, may_view) in viewers() {
        for visibility in Visibility::ALL {
            let case = format!("{who}, {visibility:?}");
            let allowed = may_view.contains(&visibility);
            let times = usize::from(allowed);
            let mut ports = Ports::default();
            ports.find_access(viewer.id(), visibility, standing);
            ports.posts.expect_toggle_like().times(times).returning(|_, _, _, _| Ok(true));
            ports.posts.expect_set_like().times(times).returning(|_, _, _| Ok(()));
            // Across a block, both ways to turn the like off try to take it back, but there is none.
            let taken_back = if standing == Standing::Blocked && !allowed { 2 } else { 0 };
            let missing = |_, _, _| Err(Error::NotFound(Resource::Post));
            ports.posts.expect_retract_like().times(taken_back).returning(missing);
            ports.posts.expect_unset_like().times(times).returning(|_, _| Ok(true));
            ports
                .posts
                .expect_list_likers()
                .times(times)
                .withf(move |id, by, page| (*id, *by, *page) == (POST, viewer.viewer(), PageRequest::FIRST))
                .returning(|_, _, _| Ok(Page { items: Vec::new(), keys: vec![], prev: None, next: None }));
            let posts = ports.build();
            assert_rejected_unless(allowed, standing, posts.toggle_like(&viewer, POST, Attempt::Unnamed).await, &case);
            assert_rejected_unless(allowed, standing, posts.like(&viewer, POST).await, &case);
            assert_rejected_unless(allowed, standing, posts.unlike(&viewer, POST).await, &case);
            assert_rejected_unless(
                allowed,
                standing,
                posts.list_likers(&viewer, POST, PageRequest::FIRST).await,
                &case,
            );
        }
    }
}

#[tokio::test]
async fn a_missing_post_is_not_found_whatever_the_role() {
    for viewer in [member(OTHER, Roles::USER), member(OTHER, ADMIN)] {
        let mut ports = Ports::default();
        ports.posts.expect_find().returning(|_, _| Ok(None));
        ports.posts.expect_find_access().returning(|_, _| Ok(None));
        let posts = ports.build();
        for missing in [
            posts.get(&viewer, POST).await.map(drop),
            posts.own(&viewer, POST).await.map(drop),
            posts.delete(&viewer, POST).await,
            posts.toggle_like(&viewer, POST, Attempt::Unnamed).await.map(drop),
            posts.like(&viewer, POST).await,
            posts.unlike(&viewer, POST).await,
            posts.list_likers(&viewer, POST, PageRequest::FIRST).await.map(drop),
        ] {
            assert!(matches!(missing, Err(Error::NotFound(Resource::Post))));
        }
    }
}

#[tokio::test]
async fn a_repeated_toggle_returns_the_earlier_outcome_and_changes_nothing() {
    for on in [true, false] {
        let again = Attempt::Replay(Outcome::LikeToggled(on));
        let toggled = Ports::default().build().toggle_like(&member(OTHER, Roles::USER), POST, again).await;
        assert_eq!(toggled.unwrap(), on);
    }
}

#[tokio::test]
async fn taking_back_a_like_across_a_block_stores_the_outcome_of_the_attempt() {
    let attempt = AttemptId::new(POST.uuid());
    let mut ports = Ports::default();
    ports.find_access(OTHER, Visibility::Public, Standing::Blocked);
    let expected =
        move |post: &PostId, by: &UserId, of: &Option<AttemptId>| (*post, *by, *of) == (POST, OTHER, Some(attempt));
    ports.posts.expect_retract_like().once().withf(expected).returning(|_, _, _| Ok(()));
    let toggled = ports.build().toggle_like(&member(OTHER, Roles::USER), POST, Attempt::First(attempt)).await;
    assert!(!toggled.unwrap());
}

/// Returns a new like of the post, with a notice to its author or without.
fn like_of(actor: UserId, has_notice: bool) -> NewRelation {
    let (id, kind, subject) = (NotificationId::new(POST.uuid()), NotificationKind::Like, Subject::Post(POST));
    let notice = has_notice.then_some(Notice { id, kind, recipient: AUTHOR, actor, subject, at: NOW });
    NewRelation { id: RelationId::new(POST.uuid()), at: NOW, notice }
}

#[tokio::test]
async fn a_like_toggle_returns_whether_the_like_is_on_now() {
    for (liker, has_notice) in [(OTHER, true), (AUTHOR, false)] {
        let like = like_of(liker, has_notice);
        for on in [true, false] {
            let mut ports = Ports::default();
            ports.find_access(liker, Visibility::Public, Standing::Stranger);
            ports
                .posts
                .expect_toggle_like()
                .once()
                .withf(move |id, user, relation, _| (*id, *user, *relation) == (POST, liker, like))
                .returning(move |_, _, _, _| Ok(on));
            let toggled = ports.build().toggle_like(&member(liker, Roles::USER), POST, Attempt::Unnamed).await;
            assert_eq!(toggled.unwrap(), on);
        }
    }
}

#[tokio::test]
async fn a_list_of_an_author_has_the_posts_that_the_viewer_may_view() {
    for (who, viewer, standing, may_view) in viewers().into_iter().filter(|(.., may_view)| !may_view.is_empty()) {
        let mut ports = Ports::default();
        ports
            .follows
            .expect_find_standing()
            .once()
            .withf(move |follower, followed| (*follower, *followed) == (viewer.id(), AUTHOR))
            .returning(move |_, _| Ok(Some(standing)));
        ports
            .posts
            .expect_list_by_author()
            .once()
            .withf(move |author, visible, by, page| {
                (*author, visible, *by, *page) == (AUTHOR, may_view, viewer.viewer(), PageRequest::FIRST)
            })
            .returning(|_, _, _, _| {
                Ok(Page { items: vec![view(post("hello", None))], keys: vec![], prev: None, next: None })
            });
        let list = ports.build().list_by_author(&viewer, AUTHOR, PageRequest::FIRST).await;
        assert_eq!(list.unwrap().items.len(), 1, "{who}");
    }
}

#[tokio::test]
async fn listing_posts_of_an_unknown_or_blocked_user_is_not_found() {
    let user = member(OTHER, Roles::USER);
    for (viewer, standing) in [(user, None), (member(OTHER, ADMIN), None), (user, Some(Standing::Blocked))] {
        let mut ports = Ports::default();
        ports.follows.expect_find_standing().returning(move |_, _| Ok(standing));
        let list = ports.build().list_by_author(&viewer, AUTHOR, PageRequest::FIRST).await;
        assert!(matches!(list, Err(Error::NotFound(Resource::User))));
    }
}

#[tokio::test]
async fn the_feed_has_what_a_follower_may_view_and_everything_for_an_admin() {
    const FOLLOWERS: &[Visibility] = &[Visibility::Public, Visibility::Followers];
    const FEED: FeedRequest = FeedRequest { created_before: Some(NOW), page: PageRequest::FIRST };
    for (roles, expected) in
        [(Roles::USER, FOLLOWERS), (ADMIN, &Visibility::ALL[..]), (Roles::ADMIN_AND_USER, &Visibility::ALL[..])]
    {
        let mut ports = Ports::default();
        ports
            .posts
            .expect_list_followed()
            .once()
            .withf(move |viewer, visible, feed| (viewer.id, visible, *feed) == (OTHER, expected, FEED))
            .returning(|_, _, _| Ok(Page { items: Vec::new(), keys: vec![], prev: None, next: None }));
        ports.build().following_feed(&member(OTHER, roles), FEED).await.unwrap();
    }
}

#[tokio::test]
async fn the_list_of_all_posts_is_read_as_the_admin() {
    let mut ports = Ports::default();
    ports
        .posts
        .expect_list_all()
        .once()
        .withf(|viewer, page| (*viewer, *page) == (Viewer { id: OTHER, sees_all: true }, PageRequest::FIRST))
        .returning(|_, _| Ok(Page { items: Vec::new(), keys: vec![], prev: None, next: None }));
    let admin = caller(OTHER, ADMIN).admin().unwrap();
    ports.build().list_all(&admin, PageRequest::FIRST).await.unwrap();
}

#[tokio::test]
async fn posts_with_a_hashtag_are_filtered_by_what_the_viewer_may_see() {
    for (who, viewer, standing, may_view) in viewers() {
        let mut ports = Ports::default();
        let tag = Hashtag::parse("#Rust").unwrap();
        let expected = tag.clone();
        ports
            .posts
            .expect_list_by_tag()
            .once()
            .withf(move |tag, visible, page| {
                let of_author = match standing {
                    _ if visible.viewer.id == AUTHOR => &Visibility::ALL,
                    Standing::Follower => visible.followed,
                    Standing::Stranger => visible.others,
                    Standing::Blocked if visible.viewer.sees_all => visible.others,
                    Standing::Blocked => &[],
                };
                *tag == expected && of_author == may_view && *page == PageRequest::FIRST
            })
            .returning(|_, _, page| Ok(page.page_of(vec![], |_| unreachable!())));
        assert!(ports.build().list_by_tag(&viewer, &tag, PageRequest::FIRST).await.unwrap().items.is_empty(), "{who}");
    }
}
