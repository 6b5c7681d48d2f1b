//! Replies, and likes of comments.

use super::*;
use crate::accounts::UserPreview;
use crate::error::ViolationKind;
use crate::idempotency::{AttemptId, Outcome as Done};
use crate::notices::NotificationKind as Kind;
use crate::relation::NewRelation;

const ANSWERED: CommentId = CommentId::new(Uuid::from_u128(21));
const TOP_AUTHOR: UserId = UserId::new(Uuid::from_u128(4));
const TOP: CommentId = CommentId::new(Uuid::from_u128(22));
const ELSEWHERE: PostId = PostId::new(Uuid::from_u128(11));

fn threaded() -> ThreadedComment {
    ThreadedComment {
        comment: comment("hello"),
        reply: None,
        entities: None,
        author: UserPreview {
            id: WRITER,
            username: Username::parse("writer").unwrap(),
            display_name: None,
            profile_picture: None,
        },
        reply_count: 0,
        like_count: 0,
        liked_by_viewer: false,
    }
}

fn page<T>(items: Vec<T>) -> Page<T> {
    Page { items, keys: vec![], prev: None, next: None }
}

/// Returns a comment on a post of this visibility to `viewer`, whose relation to the author is `standing`.
fn find(comments: &mut MockCommentRepository, viewer: UserId, visibility: Visibility, standing: Standing) {
    comments
        .expect_find_access()
        .once()
        .withf(move |target, by| (*target, *by) == (CommentTarget::Comment(COMMENT), viewer))
        .returning(move |_, _| Ok(Some(access(visibility, standing))));
}

#[tokio::test]
async fn a_reply_joins_the_thread_of_the_comment_it_answers() {
    for (parent, thread) in [(None, ANSWERED), (Some(TOP), TOP)] {
        let comments = comments(|comments, posts| {
            posts.expect_find_access().returning(|_, _| Ok(Some(post_access(Visibility::Public, Standing::Stranger))));
            comments
                .expect_find_access()
                .once()
                .withf(|target, by| (*target, *by) == (CommentTarget::Comment(ANSWERED), WRITER))
                .returning(move |_, _| {
                    let answered = access(Visibility::Public, Standing::Stranger);
                    Ok(Some(CommentAccess { id: ANSWERED, author: TOP_AUTHOR, parent, ..answered }))
                });
            let entities = Some(Entities::restore(format!("0 6 @{OTHER}")));
            let reply = Some(Reply { thread, to: ANSWERED });
            let told = [(TOP_AUTHOR, Kind::Reply), (OTHER, Kind::Mention), (POST_AUTHOR, Kind::Comment)];
            let notices = notices(WRITER, &told);
            let expected = NewComment { comment: comment("@other hello"), reply, entities, notices };
            comments.expect_create().once().withf(move |stored, _| *stored == expected).returning(|_, _| Ok(()));
        });
        let writer = member(WRITER, Roles::USER);
        assert_eq!(create(&comments, &writer, "@other hello", Some(ANSWERED)).await.unwrap(), COMMENT);
    }
}

#[tokio::test]
async fn a_reply_must_answer_a_comment_on_the_same_post() {
    let on_another = CommentAccess {
        post: PostAccess { id: ELSEWHERE, ..post_access(Visibility::Public, Standing::Stranger) },
        ..access(Visibility::Public, Standing::Stranger)
    };
    for found in [None, Some(on_another)] {
        let comments = comments(|comments, posts| {
            posts.expect_find_access().returning(|_, _| Ok(Some(post_access(Visibility::Public, Standing::Stranger))));
            comments.expect_find_access().returning(move |_, _| Ok(found));
        });
        let writer = member(WRITER, Roles::USER);
        let created = create(&comments, &writer, "hello", Some(ANSWERED)).await;
        assert!(matches!(created, Err(Error::NotFound(Resource::Comment))), "{created:?}");
    }
}

#[tokio::test]
async fn a_repeated_creation_returns_the_earlier_comment() {
    let comments = comments(|_, _| {});
    let writer = member(WRITER, Roles::USER);
    let again = Attempt::Replay(Done::CommentCreated(TOP));
    let commenting = comments.begin(&writer, POST, again).await.unwrap();
    assert_eq!(comments.create(&writer, commenting, text("hello"), None).await.unwrap(), TOP);
}

#[tokio::test]
async fn a_comment_is_stored_with_its_attempt() {
    let attempt = AttemptId::new(Uuid::from_u128(30));
    let comments = comments(|comments, posts| {
        posts.expect_find_access().returning(|_, _| Ok(Some(post_access(Visibility::Public, Standing::Stranger))));
        comments.expect_create().once().withf(move |_, named| *named == Some(attempt)).returning(|_, _| Ok(()));
    });
    let writer = member(WRITER, Roles::USER);
    let commenting = comments.begin(&writer, POST, Attempt::First(attempt)).await.unwrap();
    comments.create(&writer, commenting, text("hello"), None).await.unwrap();
}

#[tokio::test]
async fn reading_and_liking_a_comment_require_the_right_to_view_the_post() {
    for (who, viewer, standing, may_view) in audiences() {
        for visibility in Visibility::ALL {
            let times = usize::from(may_view.contains(&visibility));
            let expected = match standing {
                _ if times == 1 => Outcome::Done,
                Standing::Blocked => Outcome::NotFound,
                Standing::Stranger | Standing::Follower => Outcome::Forbidden,
            };
            let id = viewer.id();
            let permitted = |expect: &dyn Fn(&mut MockCommentRepository)| {
                comments(|comments, _| {
                    find(comments, id, visibility, standing);
                    expect(comments);
                })
            };
            let notice = notices(id, &[(WRITER, Kind::CommentLike)]).pop();
            let like = NewRelation { id: COMMENT.uuid().into(), at: NOW, notice };
            let likes = permitted(&|comments| {
                let expected = move |comment: &CommentId, by: &UserId, made: &NewRelation| {
                    (*comment, *by, *made) == (COMMENT, id, like)
                };
                comments.expect_set_like().times(times).withf(expected).returning(|_, _, _| Ok(()));
            });
            assert_eq!(outcome(likes.like(&viewer, COMMENT).await), expected, "{who}, {visibility:?}");
            let unlikes = permitted(&|comments| {
                let expected = move |comment: &CommentId, by: &UserId| (*comment, *by) == (COMMENT, id);
                // Across a block, the viewer could take back a like, but there is none.
                let taken_back = if standing == Standing::Blocked { 1 } else { times };
                comments.expect_unset_like().times(taken_back).withf(expected).returning(move |_, _| Ok(times == 1));
            });
            assert_eq!(outcome(unlikes.unlike(&viewer, COMMENT).await), expected, "{who}, {visibility:?}");
            let likers = permitted(&|comments| {
                comments.expect_list_likers().times(times).returning(|_, _, _| Ok(page(vec![])));
            });
            let listed = likers.list_likers(&viewer, COMMENT, PageRequest::FIRST).await;
            assert_eq!(outcome(listed.map(drop)), expected, "{who}, {visibility:?}");
            let found = permitted(&|comments| {
                comments.expect_find().times(times).returning(|_, _| Ok(Some(threaded())));
            });
            assert_eq!(outcome(found.get(&viewer, COMMENT).await.map(drop)), expected, "{who}, {visibility:?}");
            let replies = permitted(&|comments| {
                comments.expect_list_replies().times(times).returning(|_, _, _| Ok(page(vec![threaded()])));
            });
            let listed = replies.list_replies(&viewer, COMMENT, PageRequest::FIRST).await;
            assert_eq!(outcome(listed.map(drop)), expected, "{who}, {visibility:?}");
            let top_level = comments(|comments, posts| {
                posts.expect_find_access().returning(move |_, _| Ok(Some(post_access(visibility, standing))));
                comments
                    .expect_list_top_level()
                    .times(times)
                    .withf(move |post, by, order, _| {
                        (*post, *by, *order) == (POST, viewer.viewer(), CommentOrder::Newest)
                    })
                    .returning(|_, _, _, _| Ok(page(vec![threaded()])));
            });
            let listed = top_level.list_top_level(&viewer, POST, CommentOrder::Newest, PageRequest::FIRST).await;
            assert_eq!(outcome(listed.map(drop)), expected, "{who}, {visibility:?}");
        }
    }
}

#[tokio::test]
async fn the_replies_of_a_reply_are_those_of_its_thread() {
    let comments = comments(|comments, _| {
        comments.expect_find_access().returning(|_, _| {
            Ok(Some(CommentAccess {
                id: ANSWERED,
                parent: Some(TOP),
                ..access(Visibility::Public, Standing::Stranger)
            }))
        });
        comments
            .expect_list_replies()
            .once()
            .withf(|thread, _, _| *thread == TOP)
            .returning(|_, _, _| Ok(page(vec![])));
    });
    comments.list_replies(&member(OTHER, Roles::USER), ANSWERED, PageRequest::FIRST).await.unwrap();
}

#[tokio::test]
async fn a_missing_comment_can_be_neither_read_nor_liked() {
    let missing = comments(|comments, _| {
        comments.expect_find_access().returning(|_, _| Ok(None));
    });
    let caller = member(OTHER, ADMIN);
    assert_eq!(outcome(missing.like(&caller, COMMENT).await), Outcome::NotFound);
    assert_eq!(outcome(missing.unlike(&caller, COMMENT).await), Outcome::NotFound);
    assert_eq!(outcome(missing.get(&caller, COMMENT).await.map(drop)), Outcome::NotFound);
    let listed = missing.list_likers(&caller, COMMENT, PageRequest::FIRST).await;
    assert_eq!(outcome(listed.map(drop)), Outcome::NotFound);
    let listed = missing.list_replies(&caller, COMMENT, PageRequest::FIRST).await;
    assert_eq!(outcome(listed.map(drop)), Outcome::NotFound);
}

#[tokio::test]
async fn a_comment_is_deleted_in_batches() {
    let writer = member(WRITER, Roles::USER);
    let parts = |last: fn() -> Result<Deletion>| {
        comments(|comments, _| {
            find_access(comments, CommentTarget::Comment(COMMENT), WRITER);
            comments.expect_delete().times(2).returning(|_| Ok(Deletion::InPart));
            comments.expect_delete().once().returning(move |_| last());
        })
    };
    let gone = || Err(Error::NotFound(Resource::Comment));
    assert_eq!(outcome(parts(|| Ok(Deletion::Done)).delete(&writer, COMMENT).await), Outcome::Done);
    assert_eq!(outcome(parts(gone).delete(&writer, COMMENT).await), Outcome::Done, "by somebody else meanwhile");
    let failed = parts(|| Err(Error::unavailable("away"))).delete(&writer, COMMENT).await;
    assert!(matches!(failed, Err(Error::Unavailable(_))));
}

#[test]
fn comment_orders_parse_from_their_names() {
    for order in CommentOrder::ALL {
        assert_eq!(order.as_str().parse::<CommentOrder>(), Ok(order));
    }
    for other in ["", "Oldest", "NEWEST", "oldest ", "random"] {
        let violation = other.parse::<CommentOrder>().unwrap_err();
        assert_eq!(violation.kind(), ViolationKind::NotAllowed, "{other}");
    }
}
