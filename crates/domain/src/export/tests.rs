use std::sync::Arc;

use bytes::Bytes;
use futures_util::{StreamExt, stream};
use mockall::predicate::eq;
use uuid::Uuid;

use super::*;
use crate::accounts::{
    Account, Author, Caller, MockAccountRepository, MockSessionRepository, ProfilePicture, Roles, Session,
    SessionState, Viewer,
};
use crate::clock::{MockClock, Timestamp};
use crate::comments::{Comment, CommentText};
use crate::error::{Error, Resource};
use crate::fixtures::{self, caller};
use crate::id::{CommentId, PostId, SessionId, UserId};
use crate::limits::Limits;
use crate::limits::tests::CountersInMemory;
use crate::media::{Attachment, ImageFormat, ImageKey, MockImageStore, OpenImage, Rendition};
use crate::page::{Keyset, Page, PageRequest, Position};
use crate::posts::{MockPostRepository, Post, PostText, PostView, Visibility};

const ALICE: UserId = UserId::new(Uuid::from_u128(1));
const NOW: Timestamp = Timestamp::from_unix_millis(7);

/// An account without a role may export as well.
fn alice() -> Caller {
    caller(ALICE, Roles::NONE)
}

fn key(n: u8) -> ImageKey {
    ImageKey::new([n; 16], ImageFormat::Png)
}

fn account() -> Account {
    let profile_picture = Some(ProfilePicture::new(key(9)));
    Account { profile_picture, ..fixtures::account(ALICE, "alice") }
}

fn post(n: u8, is_hidden: bool) -> PostView {
    let post = Post {
        id: PostId::new(Uuid::from_u128(n.into())),
        author: ALICE,
        text: PostText::parse("hello").unwrap(),
        entities: None,
        attachments: vec![Attachment::bare(key(n))],
        visibility: Visibility::Private,
        is_hidden,
        created_at: NOW,
        updated_at: NOW,
    };
    let Account { id, username, email, .. } = account();
    let author = Author { id, username, email, display_name: None, biography: None, profile_picture: None };
    PostView {
        post,
        author,
        liked_by: vec![],
        like_count: 0,
        liked_by_viewer: false,
        comment_count: 0,
        bookmarked_by_viewer: false,
    }
}

const SECOND: Position = Position::After(Keyset { at: NOW, id: Uuid::from_u128(2) });

fn page<T>(items: Vec<T>, next: Option<Position>) -> Page<T> {
    let keys = vec![Keyset { at: NOW, id: Uuid::nil() }; items.len()];
    Page { items, keys, prev: None, next }
}

const LIVE: SessionState = SessionState {
    session: Session { id: SessionId::new(Uuid::nil()), user: ALICE, opened_at: NOW },
    revoked: false,
    enabled: true,
    roles: Roles::NONE,
    last_seen_at: NOW,
};

fn exports(images: MockImageStore) -> Exports {
    let (mut accounts, mut posts) = (MockAccountRepository::new(), MockPostRepository::new());
    let (mut exports, mut clock) = (MockExportRepository::new(), MockClock::new());
    let mut sessions = MockSessionRepository::new();
    sessions.expect_find().with(eq(alice().session.id)).returning(|_| Ok(Some(LIVE)));
    accounts.expect_find().with(eq(ALICE)).returning(|_| Ok(Some(account())));
    // Two pages of posts, comments and likes; the second page is requested from where the first one ends.
    posts.expect_list_by_author().returning(|author, visible, viewer, request| {
        assert_eq!((author, visible, viewer), (ALICE, &Visibility::ALL[..], Viewer::ordinary(ALICE)));
        Ok(match request.from {
            Position::Start => page(vec![post(1, false), post(2, true)], Some(SECOND)),
            from => {
                assert_eq!(from, SECOND);
                page(vec![post(3, false)], None)
            }
        })
    });
    exports.expect_list_comments().returning(|_, request| {
        let (id, author, content) = (CommentId::new(Uuid::nil()), ALICE, CommentText::parse("Indeed").unwrap());
        let (post, created_at, updated_at, is_hidden) = (PostId::new(Uuid::nil()), NOW, NOW, false);
        let comment = Comment { id, post, author, content, created_at, updated_at, is_hidden };
        let next = (request.from == Position::Start).then_some(SECOND);
        Ok(page(vec![ExportedComment { comment, reply: None }], next))
    });
    exports.expect_list_relations().returning(|_, kind, request| {
        let next = (request.from == Position::Start && kind == RelationKind::Like).then_some(SECOND);
        Ok(page(vec![], next))
    });
    exports.expect_list_reports().returning(|_, request| {
        assert_eq!(request.from, PageRequest::PART.from);
        Ok(page(vec![], None))
    });
    clock.expect_now().return_const(NOW);
    let limits = Limits { counters: Arc::new(CountersInMemory::default()), clock: Arc::new(clock) };
    Exports {
        accounts: Arc::new(accounts),
        sessions: Arc::new(sessions),
        posts: Arc::new(posts),
        exports: Arc::new(exports),
        images: Arc::new(images),
        limits,
    }
}

#[tokio::test]
async fn an_export_returns_all_data_page_by_page_and_then_the_images_that_exist() {
    let mut images = MockImageStore::new();
    images.expect_open().times(3).returning(|found, rendition, range| {
        assert_eq!((rendition, range), (Rendition::Original, None));
        let bytes = stream::iter([Ok(Bytes::from_static(b"bytes"))]).boxed();
        // This one was deleted meanwhile.
        Ok((*found != key(1)).then_some(OpenImage { size: 5, range: Some(0..5), bytes }))
    });
    let mut export = exports(images).begin(&alice()).unwrap();
    let mut parts = Vec::new();
    while let Some(part) = export.next().await.unwrap() {
        parts.push(match part {
            ExportPart::Account(account) => format!("account {}", account.username.as_str()),
            ExportPart::Posts(posts) => format!("{} posts", posts.len()),
            ExportPart::Comments(comments) => format!("{} comments", comments.len()),
            ExportPart::Relations(kind, relations) => format!("{} {kind:?}", relations.len()),
            ExportPart::Reports(reports) => format!("{} reports", reports.len()),
            ExportPart::Image(key, image) => format!("{} of {}", key.as_str(), image.size),
        });
    }
    let image = |n| format!("{} of 5", key(n).as_str());
    let expected = [
        "account alice",
        "2 posts",
        "1 posts",
        "1 comments",
        "1 comments",
        "0 Like",
        "0 Like",
        "0 CommentLike",
        "0 Follow",
        "0 Block",
        "0 Mute",
        "0 Bookmark",
        "0 reports",
        &image(9),
        // Without the image of the hidden post.
        &image(3),
    ];
    assert_eq!(parts, expected);
    assert!(export.next().await.unwrap().is_none());
}

#[tokio::test]
async fn an_account_is_exported_once_an_hour() {
    let exports = exports(MockImageStore::new());
    exports.begin(&alice()).unwrap();
    let Err(Error::TooMany(allowance)) = exports.begin(&alice()) else { panic!("a second one") };
    assert_eq!((allowance.limit.most, allowance.reset_seconds), (1, 3_600));
    let bob = Caller { user: UserId::new(Uuid::from_u128(2)), ..alice() };
    exports.begin(&bob).unwrap();
}

#[tokio::test]
async fn a_missing_account_is_not_exported() {
    let mut accounts = MockAccountRepository::new();
    accounts.expect_find().returning(|_| Ok(None));
    let mut export =
        Exports { accounts: Arc::new(accounts), ..exports(MockImageStore::new()) }.begin(&alice()).unwrap();
    assert!(matches!(export.next().await, Err(Error::NotFound(Resource::User))));
}

#[tokio::test]
async fn an_export_fails_once_its_session_has_ended() {
    for end in [Some(SessionState { revoked: true, ..LIVE }), Some(SessionState { enabled: false, ..LIVE }), None] {
        let mut sessions = MockSessionRepository::new();
        sessions.expect_find().times(1).returning(|_| Ok(Some(LIVE)));
        sessions.expect_find().times(1).returning(move |_| Ok(end));
        let exports = Exports { sessions: Arc::new(sessions), ..exports(MockImageStore::new()) };
        let mut export = exports.begin(&alice()).unwrap();
        export.next().await.unwrap();
        assert!(matches!(export.next().await, Err(Error::InvalidToken)), "{end:?}");
    }
}
