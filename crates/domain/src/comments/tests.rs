mod hiding;
mod threads;

use std::sync::Arc;

use uuid::Uuid;

use super::*;
use crate::accounts::{Author, Email, Member, MockAccountRepository, Role, Roles, UserSummary, Username};
use crate::clock::Timestamp;
use crate::entities::Entities;
use crate::error::{Error, Forbidden, Resource, Result};
use crate::fixtures::{clock, ids, member};
use crate::id::{CommentId, NotificationId, PostId, UserId};
use crate::idempotency::Attempt;
use crate::notices::{Notice, NotificationKind, Subject};
use crate::page::{Page, PageRequest};
use crate::posts::{FoundPost, MockPostRepository, Post, PostAccess, PostText, PostView, Visibility};
use crate::relation::Standing;

const WRITER: UserId = UserId::new(Uuid::from_u128(1));
const POST_AUTHOR: UserId = UserId::new(Uuid::from_u128(2));
const OTHER: UserId = UserId::new(Uuid::from_u128(3));
const POST: PostId = PostId::new(Uuid::from_u128(10));
const COMMENT: CommentId = CommentId::new(Uuid::from_u128(20));
const NOW: Timestamp = Timestamp::from_unix_millis(1_000);
const ADMIN: Roles = Roles::NONE.with(Role::Admin, true);

fn text(content: &str) -> CommentText {
    CommentText::parse(content).unwrap()
}

/// Returns the use cases. An unexpected call of a port fails the test.
fn comments(expect: impl FnOnce(&mut MockCommentRepository, &mut MockPostRepository)) -> Comments {
    let (mut comments, mut posts) = (MockCommentRepository::new(), MockPostRepository::new());
    expect(&mut comments, &mut posts);
    let mut accounts = MockAccountRepository::new();
    accounts.expect_find_ids().returning(|_, _| Ok([("other".to_owned(), OTHER)].into()));
    Comments {
        comments: Arc::new(comments),
        posts: Arc::new(posts),
        accounts: Arc::new(accounts),
        clock: clock(NOW),
        ids: ids(COMMENT.uuid()),
    }
}

/// Comments on `POST`, or replies to a comment on it.
async fn create(comments: &Comments, author: &Member, content: &str, answered: Option<CommentId>) -> Result<CommentId> {
    let commenting = comments.begin(author, POST, Attempt::Unnamed).await?;
    comments.create(author, commenting, text(content), answered).await
}

fn post_access(visibility: Visibility, standing: Standing) -> PostAccess {
    PostAccess { id: POST, author: POST_AUTHOR, visibility, is_hidden: false, standing }
}

/// Returns the access facts of a comment by `WRITER` at the top of its thread.
fn access(visibility: Visibility, standing: Standing) -> CommentAccess {
    let post = post_access(visibility, standing);
    let (parent, standing, is_hidden, hidden_thread) = (None, Standing::Stranger, false, None);
    CommentAccess { id: COMMENT, author: WRITER, parent, standing, is_hidden, hidden_thread, post }
}

fn comment(content: &str) -> Comment {
    let (content, is_hidden) = (text(content), false);
    Comment { id: COMMENT, post: POST, author: WRITER, content, created_at: NOW, updated_at: NOW, is_hidden }
}

fn post_view(visibility: Visibility) -> PostView {
    PostView {
        post: Post {
            id: POST,
            author: POST_AUTHOR,
            text: PostText::parse("a post").unwrap(),
            entities: None,
            attachments: Vec::new(),
            visibility,
            is_hidden: false,
            created_at: NOW,
            updated_at: NOW,
        },
        author: Author {
            id: POST_AUTHOR,
            username: Username::parse("author").unwrap(),
            email: Email::parse("author@example.com").unwrap(),
            display_name: None,
            biography: None,
            profile_picture: None,
        },
        liked_by: Vec::new(),
        like_count: 0,
        liked_by_viewer: false,
        comment_count: 1,
        bookmarked_by_viewer: false,
    }
}

/// Returns the notices of the comment by `actor`, to each of the recipients except `actor`.
fn notices(actor: UserId, recipients: &[(UserId, NotificationKind)]) -> Vec<Notice> {
    let others = recipients.iter().filter(|(recipient, _)| *recipient != actor);
    let notice = |&(recipient, kind): &(UserId, NotificationKind)| {
        let (id, subject) = (NotificationId::new(COMMENT.uuid()), Subject::Comment(POST, COMMENT));
        Notice { id, kind, recipient, actor, subject, at: NOW }
    };
    others.map(notice).collect()
}

/// Each kind of viewer: a name, the viewer, their relation to `POST_AUTHOR`, and the visibilities that they may view.
fn audiences() -> [(&'static str, Member, Standing, &'static [Visibility]); 6] {
    [
        ("author", member(POST_AUTHOR, Roles::USER), Standing::Stranger, &Visibility::ALL),
        ("ADMIN", member(OTHER, ADMIN), Standing::Stranger, &Visibility::ALL),
        ("blocked ADMIN", member(OTHER, ADMIN), Standing::Blocked, &Visibility::ALL),
        ("follower", member(OTHER, Roles::USER), Standing::Follower, &[Visibility::Public, Visibility::Followers]),
        ("stranger", member(OTHER, Roles::USER), Standing::Stranger, &[Visibility::Public]),
        ("blocked", member(OTHER, Roles::USER), Standing::Blocked, &[]),
    ]
}

/// Returns whether `error` is the one for a viewer of this relation to the author of a post that they may not view.
fn is_expected_rejection(error: &Error, standing: Standing) -> bool {
    match standing {
        Standing::Blocked => matches!(error, Error::NotFound(Resource::Post)),
        Standing::Stranger | Standing::Follower => matches!(error, Error::Forbidden(Forbidden::PostNotVisible)),
    }
}

#[test]
fn content_is_1_to_500_characters() {
    for (content, expected) in [
        ("", Err("Content is required")),
        (" \t\n", Err("Content is required")),
        ("x", Ok(())),
        (&"x".repeat(500), Ok(())),
        (&"😀".repeat(500), Ok(())),
        (&format!("  {}\n", "ä".repeat(500)), Ok(())),
        (&"x".repeat(501), Err("Content must be at most 500 characters")),
        (&"😀".repeat(501), Err("Content must be at most 500 characters")),
        ("a\0b", Err("Content must not contain a NUL character")),
    ] {
        let parsed = CommentText::parse(content).map(drop).map_err(|violation| violation.to_string());
        assert_eq!(parsed, expected.map_err(str::to_owned), "{content:?}");
    }
    assert_eq!(text("  two words \n").as_str(), "two words");
}

#[tokio::test]
async fn commenting_requires_the_right_to_view_the_post() {
    for (who, viewer, standing, may_view) in audiences() {
        for visibility in Visibility::ALL {
            let allowed = may_view.contains(&visibility);
            let comments = comments(|comments, posts| {
                posts
                    .expect_find_access()
                    .once()
                    .withf(move |post, by| (*post, *by) == (POST, viewer.id()))
                    .returning(move |_, _| Ok(Some(post_access(visibility, standing))));
                comments
                    .expect_create()
                    .times(usize::from(allowed))
                    .withf(move |stored, _| {
                        let comment = Comment { author: viewer.id(), ..comment("hello") };
                        let (entities, told) = (Some(Entities::default()), [(POST_AUTHOR, NotificationKind::Comment)]);
                        let notices = notices(viewer.id(), &told);
                        *stored == NewComment { comment, reply: None, entities, notices }
                    })
                    .returning(|_, _| Ok(()));
            });
            match create(&comments, &viewer, "hello", None).await {
                Ok(id) => assert!(allowed && id == COMMENT, "{who}, {visibility:?}"),
                Err(error) => {
                    assert!(!allowed && is_expected_rejection(&error, standing), "{who}, {visibility:?}: {error:?}");
                }
            }
        }
    }
}

#[tokio::test]
async fn listing_requires_the_right_to_view_the_post_and_returns_it() {
    for (who, viewer, standing, may_view) in audiences() {
        for visibility in Visibility::ALL {
            let allowed = may_view.contains(&visibility);
            let author = UserSummary::from(post_view(visibility).author);
            let entry = CommentView { comment: comment("hello"), author };
            let page = Page { items: vec![entry], keys: vec![], prev: None, next: None };
            let listed = page.clone();
            let comments = comments(|comments, posts| {
                posts
                    .expect_find()
                    .once()
                    .withf(move |post, by| (*post, *by) == (POST, viewer.viewer()))
                    .returning(move |_, _| Ok(Some(FoundPost { view: post_view(visibility), standing })));
                comments
                    .expect_list()
                    .once()
                    .withf(move |post, by, request| {
                        (*post, *by, *request) == (POST, viewer.viewer(), PageRequest::FIRST)
                    })
                    .returning(move |_, _, _| Ok(listed.clone()));
            });
            match comments.list(&viewer, POST, PageRequest::FIRST).await {
                Ok(shown) => {
                    assert!(allowed, "{who}, {visibility:?}");
                    assert_eq!(shown, PostComments { post: post_view(visibility), comments: page });
                }
                Err(error) => {
                    assert!(!allowed && is_expected_rejection(&error, standing), "{who}, {visibility:?}: {error:?}");
                }
            }
        }
    }
}

#[tokio::test]
async fn comments_of_a_missing_post_are_not_found() {
    let comments = comments(|comments, posts| {
        posts.expect_find_access().returning(|_, _| Ok(None));
        posts.expect_find().returning(|_, _| Ok(None));
        comments
            .expect_list()
            .returning(|_, _, _| Ok(Page { items: Vec::new(), keys: vec![], prev: None, next: None }));
    });
    let writer = member(WRITER, ADMIN);
    let created = create(&comments, &writer, "hello", None).await;
    assert!(matches!(created, Err(Error::NotFound(Resource::Post))));
    let listed = comments.list(&writer, POST, PageRequest::FIRST).await;
    assert!(matches!(listed, Err(Error::NotFound(Resource::Post))));
}

#[derive(Debug, PartialEq)]
enum Outcome {
    Done,
    Forbidden,
    NotFound,
}

fn outcome(result: Result<()>) -> Outcome {
    match result {
        Ok(()) => Outcome::Done,
        Err(Error::Forbidden(_)) => Outcome::Forbidden,
        Err(Error::NotFound(Resource::Comment | Resource::Post)) => Outcome::NotFound,
        Err(other) => panic!("{other:?}"),
    }
}

/// Returns the comment of `WRITER` on the post of `POST_AUTHOR` to this caller and for this target. No port of posts may be
/// called, since editing and deleting do not require the right to view the post.
fn find_access(comments: &mut MockCommentRepository, target: CommentTarget, caller: UserId) {
    comments
        .expect_find_access()
        .once()
        .withf(move |named, by| (*named, *by) == (target, caller))
        .returning(|_, _| Ok(Some(access(Visibility::Private, Standing::Stranger))));
}

#[tokio::test]
async fn only_the_author_may_edit_even_without_the_right_to_view_the_post() {
    for (who, caller, expected) in [
        ("the author", member(WRITER, Roles::USER), Outcome::Done),
        ("the author of the post", member(POST_AUTHOR, Roles::USER), Outcome::Forbidden),
        ("somebody else", member(OTHER, Roles::USER), Outcome::Forbidden),
        ("ADMIN", member(OTHER, Roles::ADMIN_AND_USER), Outcome::Forbidden),
    ] {
        for target in [CommentTarget::Comment(COMMENT), CommentTarget::NewestOn(POST)] {
            let comments = comments(|comments, _| {
                find_access(comments, target, caller.id());
                comments
                    .expect_update()
                    .times(usize::from(expected == Outcome::Done))
                    .withf(|id, content, entities, at| {
                        (*id, content.as_str(), entities.as_str(), *at) == (COMMENT, "#changed", "0 8 #changed", NOW)
                    })
                    .returning(|_, _, _, _| Ok(()));
            });
            let edited = comments.update(&caller, target, &text("#changed")).await;
            assert_eq!(outcome(edited), expected, "{who}, {target:?}");
        }
    }
}

#[tokio::test]
async fn the_authors_of_comment_and_post_may_delete_even_without_the_right_to_view_the_post() {
    for (who, caller, expected) in [
        ("the author", member(WRITER, Roles::USER), Outcome::Done),
        ("the author of the post", member(POST_AUTHOR, Roles::USER), Outcome::Done),
        ("somebody else", member(OTHER, Roles::USER), Outcome::Forbidden),
        ("ADMIN", member(OTHER, Roles::ADMIN_AND_USER), Outcome::Forbidden),
        ("ADMIN without USER", member(OTHER, ADMIN), Outcome::Forbidden),
    ] {
        let comments = comments(|comments, _| {
            find_access(comments, CommentTarget::Comment(COMMENT), caller.id());
            comments
                .expect_delete()
                .times(usize::from(expected == Outcome::Done))
                .withf(|id| *id == COMMENT)
                .returning(|_| Ok(Deletion::Done));
        });
        assert_eq!(outcome(comments.delete(&caller, COMMENT).await), expected, "{who}");
    }
}

#[tokio::test]
async fn a_missing_comment_is_not_found() {
    let writer = member(WRITER, Roles::USER);
    let missing = comments(|comments, _| {
        comments.expect_find_access().times(3).returning(|_, _| Ok(None));
    });
    for target in [CommentTarget::Comment(COMMENT), CommentTarget::NewestOn(POST)] {
        assert_eq!(outcome(missing.update(&writer, target, &text("changed")).await), Outcome::NotFound);
    }
    assert_eq!(outcome(missing.delete(&writer, COMMENT).await), Outcome::NotFound);
}

#[tokio::test]
async fn a_comment_deleted_meanwhile_is_not_found() {
    let writer = member(WRITER, Roles::USER);
    let target = CommentTarget::Comment(COMMENT);
    let edited = comments(|comments, _| {
        find_access(comments, target, WRITER);
        comments.expect_update().returning(|_, _, _, _| Err(Error::NotFound(Resource::Comment)));
    });
    assert_eq!(outcome(edited.update(&writer, target, &text("changed")).await), Outcome::NotFound);
    let deleted = comments(|comments, _| {
        find_access(comments, target, WRITER);
        comments.expect_delete().returning(|_| Err(Error::NotFound(Resource::Comment)));
    });
    assert_eq!(outcome(deleted.delete(&writer, COMMENT).await), Outcome::NotFound);
}
