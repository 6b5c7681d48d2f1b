//! Fixtures shared by the tests of posts.

mod attachments;
mod edits;
mod hiding;
mod viewing;
mod writing;

use std::sync::Arc;

use bytes::Bytes;
use mockall::Sequence;
use uuid::Uuid;

use super::*;
use crate::accounts::{Author, Email, Member, MockAccountRepository, Role, Roles, Username};
use crate::clock::Timestamp;
use crate::entities::Entities;
use crate::error::{Error, FieldErrors, FieldName, ImageCollected, Resource, Result, Violation, ViolationKind};
use crate::fixtures::{caller, clock, ids, member};
use crate::follows::MockFollowRepository;
use crate::id::{PostId, RelationId, UserId};
use crate::limits::{ClientAddress, Requester};
use crate::media::{
    AltText, Attachment, AttachmentsEdit, CleanImage, ImageFormat, ImageKey, ImagePorts, MediaIds, MockImageCleaner,
    MockImageStore, MockUnreferencedImages, Preview, Rendition,
};
use crate::page::{Page, PageRequest};
use crate::relation::{NewRelation, Standing};

const AUTHOR: UserId = UserId::new(Uuid::from_u128(1));
const OTHER: UserId = UserId::new(Uuid::from_u128(2));
const POST: PostId = PostId::new(Uuid::from_u128(10));
const BEFORE: Timestamp = Timestamp::from_unix_millis(500);
const NOW: Timestamp = Timestamp::from_unix_millis(1_000);
const ADMIN: Roles = Roles::NONE.with(Role::Admin, true);

fn author() -> Member {
    member(AUTHOR, Roles::USER)
}

/// The requester whose share of the image queue is used.
fn requester() -> Requester {
    Requester { account: Some(AUTHOR), address: ClientAddress::of(std::net::Ipv4Addr::new(192, 0, 2, 1).into()) }
}

fn text(text: &str) -> PostText {
    PostText::parse(text).unwrap()
}

/// Parses entities from the notation in which they are stored.
fn entities(notation: &str) -> Option<Entities> {
    Some(Entities::restore(notation.to_owned()))
}

fn old_image() -> ImageKey {
    ImageKey::new([1; 16], ImageFormat::Png)
}

fn new_image() -> ImageKey {
    ImageKey::new([2; 16], ImageFormat::Gif)
}

fn clean() -> CleanImage {
    let preview = Preview { width: 3, height: 2, blurhash: "LEHV".to_owned() };
    let (bytes, thumbnail) = (Bytes::from_static(b"clean"), Bytes::from_static(b"small"));
    CleanImage { format: ImageFormat::Gif, bytes, preview, thumbnail }
}

/// The clean image as it is attached to a post.
fn attached() -> Attachment {
    Attachment { key: new_image(), preview: Some(clean().preview), alt: None }
}

fn post(content: &str, image: Option<ImageKey>) -> Post {
    Post {
        id: POST,
        author: AUTHOR,
        text: text(content),
        entities: entities(""),
        attachments: image.map(Attachment::bare).into_iter().collect(),
        visibility: Visibility::Public,
        is_hidden: false,
        created_at: BEFORE,
        updated_at: BEFORE,
    }
}

fn view(post: Post) -> PostView {
    let author = Author {
        id: AUTHOR,
        username: Username::parse("author").unwrap(),
        email: Email::parse("author@example.com").unwrap(),
        display_name: None,
        biography: None,
        profile_picture: None,
    };
    PostView {
        post,
        author,
        liked_by: Vec::new(),
        like_count: 0,
        liked_by_viewer: false,
        comment_count: 0,
        bookmarked_by_viewer: false,
    }
}

/// Returns fields with this text.
fn fields(text: Option<&str>) -> PostFields {
    PostFields { text: text.map(|text| PostText::parse(text).unwrap()), ..PostFields::default() }
}

/// Returns fields with this text and an upload.
fn with_upload(text: Option<&str>) -> PostFields {
    PostFields { image: Some(Bytes::from_static(b"upload")), ..fields(text) }
}

/// The ports; a call that is not expected fails the test. The time is `NOW`, and the new id that of `POST`.
#[derive(Default)]
struct Ports {
    posts: MockPostRepository,
    accounts: MockAccountRepository,
    follows: MockFollowRepository,
    cleaner: MockImageCleaner,
    images: MockImageStore,
    unreferenced: MockUnreferencedImages,
}

impl Ports {
    /// Returns ports that clean the upload and store it as `new_image`.
    fn storing_image() -> Self {
        let mut ports = Self::default();
        ports
            .cleaner
            .expect_clean()
            .once()
            .withf(|upload, by| (&**upload, *by) == (b"upload", requester()))
            .returning(|_, _| Ok(clean()));
        ports.expect_image_stored(&mut Sequence::new());
        ports
    }

    /// Expects the clean image to be put on record, then to be stored.
    fn expect_image_stored(&mut self, order: &mut Sequence) {
        self.images.expect_new_key().withf(|format| *format == clean().format).returning(|_| Ok(new_image()));
        self.unreferenced
            .expect_announce()
            .once()
            .in_sequence(order)
            .withf(|key, at| (key, *at) == (&new_image(), NOW))
            .returning(|_, _| Ok(()));
        for (rendition, file) in [(Rendition::Original, clean().bytes), (Rendition::Thumbnail, clean().thumbnail)] {
            self.images
                .expect_put()
                .once()
                .in_sequence(order)
                .withf(move |key, of, bytes| (key, *of, bytes) == (&new_image(), rendition, &file))
                .returning(|_, _, _| Ok(()));
        }
    }

    /// Expects an image to be deleted, then its record, this number of times.
    fn expect_image_deleted(&mut self, key: fn() -> ImageKey, times: usize) {
        self.images.expect_delete().times(times).withf(move |dropped| *dropped == key()).returning(|_| Ok(()));
        self.unreferenced.expect_forget().times(times).withf(move |keys| keys == [key()]).returning(|_| Ok(()));
    }

    /// Returns the access facts of the post to this viewer.
    fn find_access(&mut self, viewer: UserId, visibility: Visibility, standing: Standing) {
        self.posts.expect_find_access().withf(move |id, by| (*id, *by) == (POST, viewer)).returning(move |id, _| {
            Ok(Some(PostAccess { id, author: AUTHOR, visibility, is_hidden: false, standing }))
        });
    }

    fn build(self) -> Posts {
        Posts::new(
            Arc::new(self.posts),
            Arc::new(self.accounts),
            Arc::new(self.follows),
            ImagePorts {
                cleaner: Arc::new(self.cleaner),
                store: Arc::new(self.images),
                unreferenced: Arc::new(self.unreferenced),
            },
            clock(NOW),
            ids(POST.uuid()),
        )
    }

    /// The use cases, and the author's right to change the post.
    async fn owning(mut self) -> (Posts, OwnPost) {
        self.find_access(AUTHOR, Visibility::Public, Standing::Stranger);
        let posts = self.build();
        let own = posts.own(&author(), POST).await.unwrap();
        (posts, own)
    }
}

fn listed(errors: &FieldErrors) -> Vec<(FieldName, String)> {
    let text = |violations: &[Violation]| violations.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ");
    errors.iter().map(|(field, violations)| (field, text(violations))).collect()
}

/// The invalid fields that a use case reports.
fn invalid<T>(result: Result<T>) -> Vec<(FieldName, String)> {
    match result {
        Err(Error::Invalid(errors)) => listed(&errors),
        Err(other) => panic!("{other:?}"),
        Ok(_) => panic!("valid"),
    }
}

/// The names of the invalid fields that a use case reports.
fn invalid_names<T>(result: Result<T>) -> Vec<FieldName> {
    invalid(result).into_iter().map(|(field, _)| field).collect()
}

/// The error of a repository for a write, and how many images are deleted after it.
type WriteFailure = (fn() -> Error, usize);

const WRITE_FAILURES: [WriteFailure; 5] = [
    (|| Error::NotFound(Resource::User), 1),
    (|| Error::field(FieldName::Text, Violation::new(ViolationKind::Required, "Text or an image is required")), 1),
    (|| Error::unavailable(ImageCollected), 1),
    (|| Error::unavailable("lost acknowledgement"), 0),
    (|| Error::internal("disk I/O error"), 0),
];
