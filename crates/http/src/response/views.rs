//! The JSON of the domain's values in responses.

use std::fmt;

use agora_domain::accounts::{Account, Author, ProfilePicture, UserPreview, UserSummary};
use agora_domain::clock::Timestamp;
use agora_domain::comments::{CommentView, ThreadedComment};
use agora_domain::entities::{Entities, Entity, Named};
use agora_domain::media::{Attachment, ImageKey, Rendition};
use agora_domain::people::{Profile, Relationship};
use agora_domain::posts::{Liker, PostView, SHOWN_LIKERS};
use serde::{Serialize, Serializer};
use serde_json::json;
use serde_json::value::RawValue;
use time::OffsetDateTime;
use utoipa::ToSchema;
use utoipa::openapi::{Array, ArrayBuilder, ObjectBuilder};
use uuid::Uuid;

use crate::core::{State, schema, schema_variants};

/// An instant, rendered as `2025-07-15T00:24:54.124+00:00`.
pub(crate) struct Instant(pub(crate) Timestamp);

impl fmt::Display for Instant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let millis = self.0.unix_millis();
        let time = OffsetDateTime::from_unix_timestamp(self.0.unix_seconds()).unwrap_or(OffsetDateTime::UNIX_EPOCH);
        let (year, month, day) = (time.year(), u8::from(time.month()), time.day());
        let (hour, minute, second) = time.to_hms();
        let milli = millis.rem_euclid(1000);
        write!(f, "{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{milli:03}+00:00")
    }
}

impl Serialize for Instant {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde calls it so")]
fn is_false(value: &bool) -> bool {
    !value
}

pub(crate) fn image_url(state: &State, key: Option<&ImageKey>) -> Option<String> {
    key.map(|key| state.image_url(key, Rendition::Original))
}

fn picture_url(state: &State, picture: Option<&ProfilePicture>) -> Option<String> {
    image_url(state, picture.map(|picture| &picture.key))
}

fn thumbnail_url(state: &State, picture: Option<&ProfilePicture>) -> Option<String> {
    picture.map(|picture| state.image_url(&picture.key, picture.small))
}

/// A role of an account.
#[derive(Serialize, ToSchema)]
pub(crate) struct Authority {
    #[schema(schema_with = schema::role)]
    authority: &'static str,
}

/// The roles and the status of an account.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = AccountStanding)]
pub(crate) struct Standing {
    /// The roles of the account.
    authorities: Vec<Authority>,
    /// Always true: accounts do not expire.
    account_non_expired: bool,
    /// Always true: accounts are not locked.
    account_non_locked: bool,
    /// Always true: credentials do not expire.
    credentials_non_expired: bool,
    /// False if an administrator has disabled the account.
    enabled: bool,
}

impl Standing {
    fn of(account: &Account) -> Self {
        Self {
            authorities: account.roles.iter().map(|role| Authority { authority: role.as_str() }).collect(),
            account_non_expired: true,
            account_non_locked: true,
            credentials_non_expired: true,
            enabled: account.enabled,
        }
    }
}

/// Declares the JSON views of domain values: each field with its type, its schema and the expression for its value. The name
/// after `as` is that of the schema in the OpenAPI document.
macro_rules! views {
    ($(
        $(#[doc = $doc:literal])+
        $name:ident as $shown:ident of $value:ident: $type:ty $(, $more:ident: $more_type:ty)? {
            $($(#[$field_attribute:meta])* $field:ident: $field_type:ty $([$($schema:tt)+])? = $from:expr,)+
        }
    )+) => {$(
        $(#[doc = $doc])+
        #[derive(serde::Serialize, utoipa::ToSchema)]
        #[serde(rename_all = "camelCase")]
        #[schema(as = $shown)]
        pub(crate) struct $name<'a> {
            $(
                $(#[$field_attribute])*
                $(#[schema(schema_with = $($schema)+, required = true)])?
                $field: $field_type,
            )+
        }

        impl<'a> $name<'a> {
            /// Returns the view of a value.
            pub(crate) fn of($value: &'a $type $(, $more: $more_type)?) -> Self {
                Self { $($field: $from),+ }
            }
        }
    )+};
}
pub(crate) use views;

views! {
    /// An account, as its user and administrators see it.
    UserBody as User of account: Account, state: &State {
        /// The id of the user.
        id: Uuid = account.id.uuid(),
        username: &'a str [schema::username] = account.username.as_str(),
        email: &'a str [schema::email] = account.email.as_str(),
        biography: Option<&'a str> [schema::biography_or_null] = account.biography.as_ref().map(|text| text.as_str()),
        profile_picture: Option<String> [schema::image_or_null] = picture_url(state, account.profile_picture.as_ref()),
        profile_picture_thumbnail: Option<String> [schema::picture_thumbnail] = thumbnail_url(state, account.profile_picture.as_ref()),
        display_name: Option<&'a str> [schema::display_name_or_null] = account.display_name.as_ref().map(|name| name.as_str()),
        discoverable: bool [schema::discoverable] = account.privacy.discoverable,
        searchable: bool [schema::searchable] = account.privacy.searchable,
        hide_counts: bool [schema::hide_counts] = account.privacy.hide_counts,
        email_verified: bool [schema::email_verified] = account.email_verified,
        created_at: Instant [schema::created_at] = Instant(account.created_at),
        #[serde(flatten)]
        standing: Standing = Standing::of(account),
    }

    /// The profile of a user, as the caller sees it.
    ProfileBody as Profile of profile: Profile, state: &State {
        /// The id of the user.
        id: Uuid = profile.id.uuid(),
        username: &'a str [schema::username] = profile.username.as_str(),
        display_name: Option<&'a str> [schema::display_name_or_null] = profile.display_name.as_ref().map(|name| name.as_str()),
        biography: Option<&'a str> [schema::biography_or_null] = profile.biography.as_ref().map(|text| text.as_str()),
        profile_picture: Option<String> [schema::image_or_null] = picture_url(state, profile.profile_picture.as_ref()),
        profile_picture_thumbnail: Option<String> [schema::picture_thumbnail] = thumbnail_url(state, profile.profile_picture.as_ref()),
        created_at: Instant [schema::created_at] = Instant(profile.created_at),
        /// The number of the user's posts that the caller may view.
        post_count: u64 = profile.post_count,
        follower_count: Option<u64> [follower_count] = profile.follower_count,
        followed_count: Option<u64> [followed_count] = profile.followed_count,
        /// The relationship of the caller to the user; null for the caller's own profile.
        #[schema(required = true)]
        relationship: Option<RelationshipBody> = profile.relationship.map(RelationshipBody::of),
    }

    /// The author of a post.
    AuthorBody as Author of author: Author, state: &State {
        /// The id of the user.
        id: Uuid = author.id.uuid(),
        username: &'a str [schema::username] = author.username.as_str(),
        email: &'a str [schema::email] = author.email.as_str(),
        biography: Option<&'a str> [schema::biography_or_null] = author.biography.as_ref().map(|text| text.as_str()),
        profile_picture: Option<String> [schema::image_or_null] = picture_url(state, author.profile_picture.as_ref()),
        profile_picture_thumbnail: Option<String> [schema::picture_thumbnail] = thumbnail_url(state, author.profile_picture.as_ref()),
    }

    /// The author of a post, without the email address.
    PublicAuthorBody as PublicAuthor of author: Author, state: &State {
        /// The id of the user.
        id: Uuid = author.id.uuid(),
        username: &'a str [schema::username] = author.username.as_str(),
        display_name: Option<&'a str> [schema::display_name_or_null] = author.display_name.as_ref().map(|name| name.as_str()),
        biography: Option<&'a str> [schema::biography_or_null] = author.biography.as_ref().map(|text| text.as_str()),
        profile_picture: Option<String> [schema::image_or_null] = picture_url(state, author.profile_picture.as_ref()),
        profile_picture_thumbnail: Option<String> [schema::picture_thumbnail] = thumbnail_url(state, author.profile_picture.as_ref()),
    }

    /// The author of a post in the list for administrators.
    AdminAuthorBody as AdminAuthor of author: Account {
        /// The id of the user.
        id: Uuid = author.id.uuid(),
        username: &'a str [schema::username] = author.username.as_str(),
        email: &'a str [schema::email] = author.email.as_str(),
        #[serde(flatten)]
        standing: Standing = Standing::of(author),
    }

    /// A user in comments and follow lists.
    UserSummaryBody as UserSummary of user: UserSummary {
        /// The id of the user.
        id: Uuid = user.id.uuid(),
        username: &'a str [schema::username] = user.username.as_str(),
        email: &'a str [schema::email] = user.email.as_str(),
    }

    /// A user who likes a post.
    LikerBody as Liker of liker: Liker, state: &State {
        /// The id of the user.
        id: Uuid = liker.id.uuid(),
        username: &'a str [schema::username] = liker.username.as_str(),
        profile_picture: Option<String> [schema::image_or_null] = image_url(state, liker.profile_picture.as_ref()),
    }

    /// A brief profile of a user.
    MiniBody as Mini of user: UserPreview, state: &State {
        /// The id of the user.
        id: Uuid = user.id.uuid(),
        username: &'a str [schema::username] = user.username.as_str(),
        display_name: Option<&'a str> [schema::display_name_or_null] = user.display_name.as_ref().map(|name| name.as_str()),
        profile_picture: Option<String> [schema::image_or_null] = picture_url(state, user.profile_picture.as_ref()),
        profile_picture_thumbnail: Option<String> [schema::picture_thumbnail] = thumbnail_url(state, user.profile_picture.as_ref()),
    }

    /// An image of a post, or one that was uploaded for a post.
    AttachmentBody as Attachment of attachment: Attachment, state: &State {
        /// The id of the image, for `mediaIds`.
        id: Uuid = attachment.id().uuid(),
        url: String [schema::image_url] = state.image_url(&attachment.key, Rendition::Original),
        thumbnail_url: Option<String> [schema::thumbnail_or_null] =
            attachment.preview.as_ref().map(|_| state.image_url(&attachment.key, Rendition::Thumbnail)),
        width: Option<u32> [schema::width_or_null] = attachment.preview.as_ref().map(|preview| preview.width),
        height: Option<u32> [schema::height_or_null] = attachment.preview.as_ref().map(|preview| preview.height),
        blurhash: Option<&'a str> [schema::blurhash_or_null] =
            attachment.preview.as_ref().map(|preview| preview.blurhash.as_str()),
        alt: Option<&'a str> [schema::alt_or_null] = attachment.alt.as_ref().map(|alt| alt.as_str()),
    }

    /// A comment in its thread.
    ThreadedCommentBody as ThreadedComment of view: ThreadedComment, state: &State {
        /// The id of the comment.
        id: Uuid = view.comment.id.uuid(),
        content: &'a str [schema::comment_text] = view.comment.content.as_str(),
        entities: EntityList<'a> [entities] = EntityList(view.entities.as_ref()),
        author: MiniBody<'a> = MiniBody::of(&view.author, state),
        /// The id of the comment at the top of its thread; null for a top-level comment.
        #[schema(required = true)]
        parent_id: Option<Uuid> = view.reply.map(|reply| reply.thread.uuid()),
        /// The id of the comment that it replies to, which may have been deleted since; null for a top-level comment.
        #[schema(required = true)]
        reply_to_id: Option<Uuid> = view.reply.map(|reply| reply.to.uuid()),
        /// The number of replies in its thread; 0 for a reply.
        reply_count: u64 = view.reply_count,
        /// The number of likes.
        like_count: u64 = view.like_count,
        /// Whether the caller likes it.
        liked_by_me: bool = view.liked_by_viewer,
        created_at: Instant [schema::created_at] = Instant(view.comment.created_at),
        updated_at: Instant [schema::updated_at] = Instant(view.comment.updated_at),
        /// True if an administrator has hidden it, and absent otherwise. Only administrators and its author can see it then.
        #[serde(skip_serializing_if = "is_false")]
        #[schema(required = false)]
        hidden: bool = view.comment.is_hidden,
    }

    /// A comment with the post that it is on, which is the same in every entry of a list.
    CommentBody as Comment of view: CommentView, post: &'a RawValue {
        /// The id of the comment.
        id: Uuid = view.comment.id.uuid(),
        content: &'a str [schema::comment_text] = view.comment.content.as_str(),
        author: UserSummaryBody<'a> = UserSummaryBody::of(&view.author),
        created_at: Instant [schema::created_at] = Instant(view.comment.created_at),
        updated_at: Instant [schema::updated_at] = Instant(view.comment.updated_at),
        /// True if an administrator has hidden it, and absent otherwise. Only administrators and its author can see it then.
        #[serde(skip_serializing_if = "is_false")]
        #[schema(required = false)]
        hidden: bool = view.comment.is_hidden,
        // Rendered once for all entries.
        /// The post that the comment is on.
        #[schema(value_type = CommentedPost)]
        post: &'a RawValue = post,
    }
}

/// The relationship of the caller to another user.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = Relationship)]
pub(crate) struct RelationshipBody {
    /// Whether the caller follows the user.
    following: bool,
    /// Whether the user follows the caller.
    followed_by: bool,
    /// Whether the caller blocks the user.
    blocking: bool,
    /// Whether the caller mutes the user.
    muting: bool,
}

impl RelationshipBody {
    fn of(relationship: Relationship) -> Self {
        let Relationship { following, followed_by, blocking, muting } = relationship;
        Self { following, followed_by, blocking, muting }
    }
}

/// A mention, hashtag or URL in a text. Positions are counted in UTF-16 code units from the beginning of the text.
#[derive(Serialize, ToSchema)]
#[serde(tag = "type", rename_all = "camelCase")]
#[schema(as = Entity)]
pub(crate) enum EntityBody {
    /// A mention of a user.
    Mention {
        /// The position where it begins.
        start: usize,
        /// The position after its end.
        end: usize,
        /// The id of the user.
        #[serde(rename = "userId")]
        user_id: Uuid,
    },
    /// A hashtag.
    Hashtag {
        /// The position where it begins.
        start: usize,
        /// The position after its end.
        end: usize,
        /// The hashtag without `#`, in folded letter case: the same for all spellings of one hashtag.
        tag: String,
    },
    /// A URL.
    Url {
        /// The position where it begins.
        start: usize,
        /// The position after its end.
        end: usize,
        /// The URL as it is written.
        url: String,
    },
}

impl EntityBody {
    fn of(Entity { start, end, named }: Entity) -> Self {
        match named {
            Named::Account(id) => Self::Mention { start, end, user_id: id.uuid() },
            Named::Hashtag(tag) => Self::Hashtag { start, end, tag: tag.as_str().to_owned() },
            Named::Url(url) => Self::Url { start, end, url },
        }
    }
}

/// The entities of a text, rendered one at a time since there may be very many; `None` if they have not been extracted yet.
struct EntityList<'a>(Option<&'a Entities>);

impl Serialize for EntityList<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.0.iter().flat_map(|entities| entities.iter()).map(EntityBody::of))
    }
}

impl<'a> UserSummaryBody<'a> {
    pub(crate) fn of_author(author: &'a Author) -> Self {
        Self { id: author.id.uuid(), username: author.username.as_str(), email: author.email.as_str() }
    }
}

/// A post, its author in the shape `A`.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct PostBody<'a, A> {
    /// The id of the post.
    id: Uuid,
    #[schema(schema_with = schema::post_content)]
    content: &'a str,
    #[schema(schema_with = entities)]
    entities: EntityList<'a>,
    #[schema(schema_with = schema::image_or_null, required = true)]
    image: Option<String>,
    #[schema(schema_with = attachments)]
    attachments: Vec<AttachmentBody<'a>>,
    #[schema(schema_with = schema::visibility)]
    visibility: &'static str,
    #[schema(schema_with = schema::created_at)]
    created_at: Instant,
    #[schema(schema_with = schema::updated_at)]
    updated_at: Instant,
    #[schema(schema_with = liked_by)]
    liked_by: Vec<LikerBody<'a>>,
    /// The number of likes.
    like_count: u64,
    /// Whether the caller likes it.
    liked_by_me: bool,
    /// The number of comments.
    comment_count: u64,
    /// Whether the caller has bookmarked it.
    bookmarked_by_me: bool,
    /// True if an administrator has hidden it, and absent otherwise. Only administrators and its author can see it then.
    #[serde(skip_serializing_if = "is_false")]
    #[schema(required = false)]
    hidden: bool,
    #[schema(schema_with = schema::reference::<A>)]
    author: A,
}

impl<'a, A> PostBody<'a, A> {
    pub(crate) fn of<V>(view: &'a PostView<V>, state: &State, author: impl FnOnce(&'a V) -> A) -> Self {
        let post = &view.post;
        let shown = post.shown_attachments();
        Self {
            id: post.id.uuid(),
            content: post.text.as_str(),
            entities: EntityList(post.entities.as_ref()),
            image: image_url(state, shown.first().map(|first| &first.key)),
            attachments: shown.iter().map(|attachment| AttachmentBody::of(attachment, state)).collect(),
            visibility: post.visibility.as_str(),
            created_at: Instant(post.created_at),
            updated_at: Instant(post.updated_at),
            liked_by: view.liked_by.iter().map(|liker| LikerBody::of(liker, state)).collect(),
            like_count: view.like_count,
            liked_by_me: view.liked_by_viewer,
            comment_count: view.comment_count,
            bookmarked_by_me: view.bookmarked_by_viewer,
            hidden: post.is_hidden,
            author: author(&view.author),
        }
    }
}

impl<'a> PostBody<'a, AuthorBody<'a>> {
    /// Returns the view of a post in its own endpoint, in a user's list and in the following feed.
    pub(crate) fn with_author(view: &'a PostView, state: &State) -> Self {
        Self::of(view, state, |author| AuthorBody::of(author, state))
    }
}

impl<'a> PostBody<'a, PublicAuthorBody<'a>> {
    /// Returns the view of a post in lists with posts of anybody, which omits the author's email address.
    pub(crate) fn with_public_author(view: &'a PostView, state: &State) -> Self {
        Self::of(view, state, |author| PublicAuthorBody::of(author, state))
    }
}

fn follower_count() -> ObjectBuilder {
    schema::count_or_null().description(Some("The number of followers; null if the user hides it from the caller."))
}

fn followed_count() -> ObjectBuilder {
    schema::count_or_null()
        .description(Some("The number of users whom the user follows; null if the user hides it from the caller."))
}

/// Returns the schema of the entities of a text.
fn entities() -> Array {
    ArrayBuilder::new()
        .items(schema::reference::<EntityBody>())
        .description(Some("The mentions, hashtags and URLs in the text, in order. They do not overlap."))
        .examples([json!([])])
        .build()
}

/// Returns the schema of the images of a post.
fn attachments() -> Array {
    ArrayBuilder::new()
        .items(schema::reference::<AttachmentBody<'static>>())
        .description(Some("The post's images, in the order in which they are shown. The first one is also `image`."))
        .max_items(Some(Attachment::MAX))
        .examples([json!([])])
        .build()
}

/// Returns the schema of the users who most recently liked a post.
fn liked_by() -> Array {
    ArrayBuilder::new()
        .items(schema::reference::<LikerBody<'static>>())
        .description(Some("The users who liked it last, newest first. All of them: `GET /api/posts/{postId}/likes`."))
        .max_items(Some(SHOWN_LIKERS))
        .build()
}

schema_variants! {
    /// A post.
    Post of PostBody<'static, AuthorBody<'static>>: |_| ();
    /// A post, without the email address of its author.
    PostByPublicAuthor of PostBody<'static, PublicAuthorBody<'static>>: |_| ();
    /// A post, with the roles and the status of its author.
    AdminPost of PostBody<'static, AdminAuthorBody<'static>>: |_| ();
    /// A post as comments show it.
    CommentedPost of PostBody<'static, UserSummaryBody<'static>>: |_| ();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instants_have_milliseconds_and_an_offset() {
        let text = |millis| Instant(Timestamp::from_unix_millis(millis)).to_string();
        assert_eq!(text(1_752_539_094_124), "2025-07-15T00:24:54.124+00:00");
        assert_eq!(text(0), "1970-01-01T00:00:00.000+00:00");
        assert_eq!(text(-1), "1969-12-31T23:59:59.999+00:00");
    }
}
