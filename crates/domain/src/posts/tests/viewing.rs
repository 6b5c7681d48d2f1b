//! Who may view what, and likes.

use super::*;
use crate::entities::Hashtag;
use crate::id::NotificationId;
use crate::idempotency::{Attempt, Outcome};
use crate::notices::{Notice, NotificationKind, Subject};

/// Each kind of viewer: who, whether they follow the author, what they may see.
fn viewers() -> [(&'static str, Member, bool, &'static [Visibility]); 6] {
    const FOLLOWERS: &[Visibility] = &[Visibility::Public, Visibility::Followers];
    [
        ("author", author(), false, &Visibility::ALL),
        ("ADMIN", member(OTHER, Roles::ADMIN_AND_USER), false, &Visibility::ALL),
        ("ADMIN without USER", member(OTHER, ADMIN), false, &Visibility::ALL),
        ("ADMIN who follows", member(OTHER, ADMIN), true, &Visibility::ALL),
        ("follower", member(OTHER, Roles::USER), true, FOLLOWERS),
        ("stranger", member(OTHER, Roles::USER), false, &[Visibility::Public]),
    ]
}

fn assert_refused_unless<T>(allowed: bool, result: Result<T>, case: &str) {
    match result {
        Ok(_) => assert!(allowed, "{case}"),
        Err(error) => assert!(!allowed && matches!(error, Error::Forbidden(_)), "{case}: {error:?}"),
    }
}

#[tokio::test]
async fn a_post_is_shown_to_those_who_may_view_it() {
    for (who, viewer, viewer_follows, may_view) in viewers() {
        for visibility in Visibility::ALL {
            let mut ports = Ports::default();
            let found = move || FoundPost { view: view(Post { visibility, ..post("hello", None) }), viewer_follows };
            ports
                .posts
                .expect_find()
                .once()
                .withf(move |id, by| (*id, *by) == (POST, viewer.id()))
                .returning(move |_, _| Ok(Some(found())));
            let shown = ports.build().get(&viewer, POST).await;
            let allowed = may_view.contains(&visibility);
            if let Ok(shown) = &shown {
                assert_eq!(*shown, found().view);
            }
            assert_refused_unless(allowed, shown, &format!("{who}, {visibility:?}"));
        }
    }
}

#[tokio::test]
async fn likes_are_set_and_seen_by_those_who_may_view_the_post() {
    for (who, viewer, viewer_follows, may_view) in viewers() {
        for visibility in Visibility::ALL {
            let case = format!("{who}, {visibility:?}");
            let allowed = may_view.contains(&visibility);
            let times = usize::from(allowed);
            let mut ports = Ports::default();
            ports.find_access(viewer.id(), visibility, viewer_follows);
            ports.posts.expect_toggle_like().times(times).returning(|_, _, _, _| Ok(true));
            ports.posts.expect_set_like().times(times).returning(|_, _, _| Ok(()));
            ports.posts.expect_unset_like().times(times).returning(|_, _| Ok(()));
            ports
                .posts
                .expect_list_likers()
                .times(times)
                .withf(|id, page| (*id, *page) == (POST, PageRequest::FIRST))
                .returning(|_, _| Ok(Page { items: Vec::new(), keys: vec![], prev: None, next: None }));
            let posts = ports.build();
            assert_refused_unless(allowed, posts.toggle_like(&viewer, POST, Attempt::Unnamed).await, &case);
            assert_refused_unless(allowed, posts.like(&viewer, POST).await, &case);
            assert_refused_unless(allowed, posts.unlike(&viewer, POST).await, &case);
            assert_refused_unless(allowed, posts.list_likers(&viewer, POST, PageRequest::FIRST).await, &case);
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
async fn a_toggle_that_was_done_before_is_told_again_and_does_nothing() {
    for on in [true, false] {
        let again = Attempt::Again(Outcome::LikeToggled(on));
        let toggled = Ports::default().build().toggle_like(&member(OTHER, Roles::USER), POST, again).await;
        assert_eq!(toggled.unwrap(), on);
    }
}

/// A new like of the post, of which its author is told or not.
fn like_of(actor: UserId, tells: bool) -> NewRelation {
    let (id, kind, subject) = (NotificationId::new(POST.uuid()), NotificationKind::Like, Subject::Post(POST));
    let notice = tells.then_some(Notice { id, kind, recipient: AUTHOR, actor, subject, at: NOW });
    NewRelation { id: RelationId::new(POST.uuid()), at: NOW, notice }
}

#[tokio::test]
async fn a_like_toggle_returns_whether_the_like_is_on_now() {
    for (liker, tells) in [(OTHER, true), (AUTHOR, false)] {
        let like = like_of(liker, tells);
        for on in [true, false] {
            let mut ports = Ports::default();
            ports.find_access(liker, Visibility::Public, false);
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
async fn a_list_of_an_author_holds_what_the_viewer_may_view() {
    for (who, viewer, follows, may_view) in viewers() {
        let mut ports = Ports::default();
        ports
            .follows
            .expect_is_following()
            .once()
            .withf(move |follower, followed| (*follower, *followed) == (viewer.id(), AUTHOR))
            .returning(move |_, _| Ok(Some(follows)));
        ports
            .posts
            .expect_list_by_author()
            .once()
            .withf(move |author, visible, by, page| {
                (*author, visible, *by, *page) == (AUTHOR, may_view, viewer.id(), PageRequest::FIRST)
            })
            .returning(|_, _, _, _| {
                Ok(Page { items: vec![view(post("hello", None))], keys: vec![], prev: None, next: None })
            });
        let list = ports.build().list_by_author(&viewer, AUTHOR, PageRequest::FIRST).await;
        assert_eq!(list.unwrap().items.len(), 1, "{who}");
    }
}

#[tokio::test]
async fn the_posts_of_an_unknown_user_are_not_found() {
    for viewer in [member(OTHER, Roles::USER), member(OTHER, ADMIN)] {
        let mut ports = Ports::default();
        ports.follows.expect_is_following().returning(|_, _| Ok(None));
        let list = ports.build().list_by_author(&viewer, AUTHOR, PageRequest::FIRST).await;
        assert!(matches!(list, Err(Error::NotFound(Resource::User))));
    }
}

#[tokio::test]
async fn the_feed_holds_what_a_follower_may_view_and_everything_for_admin() {
    const FOLLOWERS: &[Visibility] = &[Visibility::Public, Visibility::Followers];
    const FEED: FeedRequest = FeedRequest { made_before: Some(NOW), page: PageRequest::FIRST };
    for (roles, expected) in
        [(Roles::USER, FOLLOWERS), (ADMIN, &Visibility::ALL[..]), (Roles::ADMIN_AND_USER, &Visibility::ALL[..])]
    {
        let mut ports = Ports::default();
        ports
            .posts
            .expect_list_followed()
            .once()
            .withf(move |viewer, visible, feed| (*viewer, visible, *feed) == (OTHER, expected, FEED))
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
        .withf(|viewer, page| (*viewer, *page) == (OTHER, PageRequest::FIRST))
        .returning(|_, _| Ok(Page { items: Vec::new(), keys: vec![], prev: None, next: None }));
    let admin = caller(OTHER, ADMIN).admin().unwrap();
    ports.build().list_all(&admin, PageRequest::FIRST).await.unwrap();
}

#[tokio::test]
async fn posts_with_a_hashtag_are_listed_by_what_the_viewer_may_see() {
    for (who, viewer, viewer_follows, may_view) in viewers() {
        let mut ports = Ports::default();
        let tag = Hashtag::parse("#Rust").unwrap();
        let expected = tag.clone();
        ports
            .posts
            .expect_list_by_tag()
            .once()
            .withf(move |tag, visible, page| {
                let of_author = match visible.viewer {
                    AUTHOR => &Visibility::ALL,
                    _ if viewer_follows => visible.followed,
                    _ => visible.others,
                };
                *tag == expected && of_author == may_view && *page == PageRequest::FIRST
            })
            .returning(|_, _, page| Ok(page.page_of(vec![], |_| unreachable!())));
        assert!(ports.build().list_by_tag(&viewer, &tag, PageRequest::FIRST).await.unwrap().items.is_empty(), "{who}");
    }
}
