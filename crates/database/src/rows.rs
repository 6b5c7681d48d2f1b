//! Rows and their conversion to and from the domain's values; pages of lists as values of queries.

use agora_domain::accounts::{
    Account, Author, Biography, DisplayName, Email, NewAccount, Privacy, ProfilePicture, Role, Roles, UserPreview,
    UserSummary, Username,
};
use agora_domain::comments::{Comment, CommentText, CommentView, NewComment, Reply};
use agora_domain::entities::Entities;
use agora_domain::media::{ImageKey, Rendition};
use agora_domain::page::{Keyset, Page, PageRequest, Position};
use agora_domain::posts::{Liker, Post, PostText, Visibility};
use diesel::{AsChangeset, Insertable, Queryable, Selectable};
use uuid::Uuid;

use crate::attachments;
use crate::codes::codes;
use crate::error::Outcome;
use crate::schema::{UserRecord, comments, post_tags, posts, users};
use crate::sql_types::{DbId, DbInstant};

pub(crate) fn image_key(stored: Option<String>) -> Outcome<Option<ImageKey>> {
    stored.as_deref().map(attachments::parse_key).transpose()
}

codes! { visibility_code, visibility("visibility"): Visibility { Public = 0, Followers = 1, Private = 2 } }

pub(crate) fn count(stored: i64) -> u64 {
    // No count is negative: SQLite has a CHECK for it, and tests compare counts with a recount on both databases.
    u64::try_from(stored).unwrap_or_default()
}

/// The direction in time in which a part of a list is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Toward {
    Older,
    Newer,
}

/// The position after which a part of a list begins, in reading direction, as the values of a keyset condition.
#[derive(Debug, Clone, Copy)]
pub(crate) struct After(pub(crate) DbInstant, pub(crate) DbId);

/// A part of a list as the values of a query: at most `limit` rows after a position, in reading direction.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Slice {
    pub(crate) toward: Toward,
    pub(crate) after: After,
    pub(crate) limit: i64,
}

impl Slice {
    /// Returns the slice that a page of a list ordered from new to old needs.
    pub(crate) fn newest_first(page: PageRequest) -> Self {
        Self::of(page, [Toward::Older, Toward::Newer])
    }

    /// Returns the slice that a page of a list ordered from old to new needs.
    pub(crate) fn oldest_first(page: PageRequest) -> Self {
        Self::of(page, [Toward::Newer, Toward::Older])
    }

    /// Returns the slice for a page of a list, given the directions towards the list's end and towards its beginning.
    fn of(page: PageRequest, [forward, backward]: [Toward; 2]) -> Self {
        let (toward, after) = match page.from {
            Position::Start => (forward, None),
            Position::After(key) => (forward, Some(key)),
            Position::Before(key) => (backward, Some(key)),
            Position::End => (backward, None),
        };
        Self::new(toward, after, page.overfetch())
    }

    /// Creates a slice of at most `limit` rows after a position, or from the first row on without one.
    pub(crate) fn new(toward: Toward, after: Option<Keyset>, limit: usize) -> Self {
        let beginning = match toward {
            Toward::Older => After(DbInstant::MAX, DbId(Uuid::max())),
            Toward::Newer => After(DbInstant::MIN, DbId(Uuid::nil())),
        };
        let after = after.map_or(beginning, |key| After(DbInstant(key.at), DbId(key.id)));
        Self { toward, after, limit: i64::try_from(limit).unwrap_or(i64::MAX) }
    }

    /// Merges the positions of several slices like this one, each of another part of the list: sorts them and keeps the first
    /// `limit`.
    pub(crate) fn first_of(&self, mut keys: Vec<Keyset>) -> Vec<Keyset> {
        match self.toward {
            Toward::Older => keys.sort_unstable_by_key(|key| std::cmp::Reverse(*key)),
            Toward::Newer => keys.sort_unstable(),
        }
        keys.truncate(usize::try_from(self.limit).unwrap_or(usize::MAX));
        keys
    }
}

/// Loads the rows of a slice of what a query selects, in the order of two columns. Written in this form, the condition makes both
/// databases walk the index from the position on. Each direction is a statement of its own, so that both stay prepared.
macro_rules! load_by {
    ($query:expr, $at:expr, $id:expr, $slice:expr, $conn:expr) => {{
        let ($crate::rows::Slice { toward, after: $crate::rows::After(instant, last), limit }, query) =
            ($slice, $query);
        let (at, id) = ($at, $id);
        match toward {
            $crate::rows::Toward::Older => {
                let older = query.filter(at.le(instant).and(at.lt(instant).or(id.lt(last))));
                built(older.order((at.desc(), id.desc())).limit(limit)).load($conn).await
            }
            $crate::rows::Toward::Newer => {
                let newer = query.filter(at.ge(instant).and(at.gt(instant).or(id.gt(last))));
                built(newer.order((at.asc(), id.asc())).limit(limit)).load($conn).await
            }
        }
    }};
}

pub(crate) use load_by;

/// Makes a page of the rows that a query returned. `read` converts a row to its position and its item.
pub(crate) fn page_of<R, T>(
    page: PageRequest,
    rows: Vec<R>,
    read: impl FnMut(R) -> Outcome<(Keyset, T)>,
) -> agora_domain::Result<Page<T>> {
    let rows = rows.into_iter().map(read).collect::<Outcome<Vec<_>>>()?;
    Ok(page.page_of(rows, |(key, _)| *key).map(|(_, item)| item))
}

/// The columns of a user's picture.
#[derive(Debug, Clone, Queryable, Selectable)]
#[diesel(table_name = users)]
pub(crate) struct PictureRow {
    pub(crate) profile_picture: Option<String>,
    /// The file name of the small version: of the thumbnail, or of the picture itself if it can have none. It belongs to another
    /// picture if a node of the previous release has changed the picture since.
    pub(crate) small_picture: Option<String>,
}

impl PictureRow {
    pub(crate) fn picture(self) -> Outcome<Option<ProfilePicture>> {
        let Some(key) = image_key(self.profile_picture)? else { return Ok(None) };
        let small = self.small_picture.as_deref().and_then(ImageKey::parse_file_name);
        let small = small.filter(|(of, _)| *of == key).map_or(Rendition::Original, |(_, small)| small);
        Ok(Some(ProfilePicture { key, small }))
    }

    /// Stores no `small_picture` for a picture without a thumbnail, so that the background job may still make one.
    pub(crate) fn of(ProfilePicture { key, small }: &ProfilePicture) -> Self {
        let small_picture = (*small == Rendition::Thumbnail).then(|| key.file_name(*small));
        Self { profile_picture: Some(key.as_str().to_owned()), small_picture }
    }
}

/// The columns of an account, without its password.
#[derive(Debug, Clone, Queryable, Selectable)]
#[diesel(table_name = users)]
pub(crate) struct UserRow {
    pub(crate) id: DbId,
    pub(crate) username: String,
    pub(crate) email: String,
    pub(crate) biography: Option<String>,
    #[diesel(embed)]
    pub(crate) picture: PictureRow,
    pub(crate) is_admin: bool,
    pub(crate) is_user: bool,
    pub(crate) enabled: bool,
    pub(crate) created_at: DbInstant,
    pub(crate) display_name: Option<String>,
    pub(crate) discoverable: bool,
    pub(crate) searchable: bool,
    pub(crate) hide_counts: bool,
    pub(crate) email_verified: bool,
}

impl UserRecord {
    pub(crate) fn of(NewAccount { account, password, .. }: &NewAccount) -> Self {
        let picture = account.profile_picture.as_ref().map(PictureRow::of);
        let (profile_picture, small_picture) =
            picture.map(|it| (it.profile_picture, it.small_picture)).unwrap_or_default();
        Self {
            id: DbId(account.id.uuid()),
            username: account.username.as_str().to_owned(),
            username_key: account.username.key(),
            email: account.email.as_str().to_owned(),
            email_key: account.email.key(),
            password_hash: password.as_str().to_owned(),
            biography: account.biography.as_ref().map(|text| text.as_str().to_owned()),
            profile_picture,
            is_admin: account.roles.contains(Role::Admin),
            is_user: account.roles.contains(Role::User),
            enabled: account.enabled,
            created_at: DbInstant(account.created_at),
            display_name: account.display_name.as_ref().map(|name| name.as_str().to_owned()),
            discoverable: account.privacy.discoverable,
            searchable: account.privacy.searchable,
            hide_counts: account.privacy.hide_counts,
            email_verified: account.email_verified,
            small_picture,
        }
    }
}

impl UserRow {
    pub(crate) fn account(self) -> Outcome<Account> {
        Ok(Account {
            id: self.id.0.into(),
            username: Username::restore(self.username),
            email: Email::restore(self.email),
            display_name: self.display_name.map(DisplayName::restore),
            biography: self.biography.map(Biography::restore),
            profile_picture: self.picture.picture()?,
            privacy: Privacy {
                discoverable: self.discoverable,
                searchable: self.searchable,
                hide_counts: self.hide_counts,
            },
            roles: roles(self.is_admin, self.is_user),
            enabled: self.enabled,
            email_verified: self.email_verified,
            created_at: self.created_at.0,
        })
    }
}

pub(crate) fn roles(is_admin: bool, is_user: bool) -> Roles {
    Roles::NONE.with(Role::Admin, is_admin).with(Role::User, is_user)
}

/// The columns of a post's author.
#[derive(Debug, Clone, Queryable, Selectable)]
#[diesel(table_name = users)]
pub(crate) struct AuthorRow {
    pub(crate) id: DbId,
    pub(crate) username: String,
    pub(crate) email: String,
    pub(crate) display_name: Option<String>,
    pub(crate) biography: Option<String>,
    #[diesel(embed)]
    pub(crate) picture: PictureRow,
}

impl AuthorRow {
    pub(crate) fn author(self) -> Outcome<Author> {
        Ok(Author {
            id: self.id.0.into(),
            username: Username::restore(self.username),
            email: Email::restore(self.email),
            display_name: self.display_name.map(DisplayName::restore),
            biography: self.biography.map(Biography::restore),
            profile_picture: self.picture.picture()?,
        })
    }
}

/// The columns of a user in a list.
#[derive(Debug, Clone, Queryable, Selectable)]
#[diesel(table_name = users)]
pub(crate) struct SummaryRow {
    pub(crate) id: DbId,
    pub(crate) username: String,
    pub(crate) email: String,
}

impl SummaryRow {
    pub(crate) fn summary(self) -> UserSummary {
        UserSummary {
            id: self.id.0.into(),
            username: Username::restore(self.username),
            email: Email::restore(self.email),
        }
    }
}

/// The columns of a user who likes something.
#[derive(Debug, Clone, Queryable, Selectable)]
#[diesel(table_name = users)]
pub(crate) struct LikerRow {
    pub(crate) id: DbId,
    pub(crate) username: String,
    pub(crate) profile_picture: Option<String>,
}

impl LikerRow {
    pub(crate) fn liker(self) -> Outcome<Liker> {
        Ok(Liker {
            id: self.id.0.into(),
            username: Username::restore(self.username),
            profile_picture: image_key(self.profile_picture)?,
        })
    }
}

/// The columns of a user that are shown beside something the user did.
#[derive(Debug, Clone, Queryable, Selectable)]
#[diesel(table_name = users)]
pub(crate) struct PreviewRow {
    pub(crate) id: DbId,
    pub(crate) username: String,
    pub(crate) display_name: Option<String>,
    #[diesel(embed)]
    pub(crate) picture: PictureRow,
}

impl PreviewRow {
    pub(crate) fn preview(self) -> Outcome<UserPreview> {
        Ok(UserPreview {
            id: self.id.0.into(),
            username: Username::restore(self.username),
            display_name: self.display_name.map(DisplayName::restore),
            profile_picture: self.picture.picture()?,
        })
    }
}

/// The columns of a post that are written with it, without its counts.
#[derive(Debug, Clone, Queryable, Selectable, Insertable, AsChangeset)]
#[diesel(table_name = posts, treat_none_as_default_value = false, treat_none_as_null = true)]
pub(crate) struct PostRow {
    pub(crate) id: DbId,
    pub(crate) author_id: DbId,
    pub(crate) content: String,
    pub(crate) image: Option<String>,
    pub(crate) attachments: Option<String>,
    pub(crate) visibility: i16,
    pub(crate) created_at: DbInstant,
    pub(crate) updated_at: DbInstant,
    pub(crate) entities: Option<String>,
    pub(crate) hidden_visibility: Option<i16>,
}

/// The stored visibility code of a post, and the one it had before the post was hidden, if it is hidden.
pub(crate) type StoredVisibility = (i16, Option<i16>);

/// Returns the visibility that the author chose, and whether the post is hidden, given the codes of a [`StoredVisibility`].
pub(crate) fn shown_visibility(stored: i16, hidden: Option<i16>) -> Outcome<(Visibility, bool)> {
    Ok((visibility(hidden.unwrap_or(stored))?, hidden.is_some()))
}

/// A hashtag of a post.
#[derive(Debug, Clone, Insertable)]
#[diesel(table_name = post_tags, treat_none_as_default_value = false)]
pub(crate) struct TagRow {
    tag: String,
    created_at: DbInstant,
    id: DbId,
    author_id: DbId,
    visibility: i16,
}

impl PostRow {
    pub(crate) fn of(post: &Post) -> Self {
        let shown = visibility_code(post.visibility);
        let (visibility, hidden_visibility) =
            if post.is_hidden { (visibility_code(Visibility::Private), Some(shown)) } else { (shown, None) };
        Self {
            id: DbId(post.id.uuid()),
            author_id: DbId(post.author.uuid()),
            content: post.text.as_str().to_owned(),
            image: post.attachments.first().map(|first| first.key.as_str().to_owned()),
            attachments: attachments::stored(&post.attachments),
            visibility,
            hidden_visibility,
            created_at: DbInstant(post.created_at),
            updated_at: DbInstant(post.updated_at),
            entities: post.entities.as_ref().map(|entities| entities.as_str().to_owned()),
        }
    }

    /// Returns the hashtags of the post's text, without duplicates.
    pub(crate) fn tags(&self) -> Vec<String> {
        let entities = Entities::restore(self.entities.clone().unwrap_or_default());
        entities.hashtags().into_iter().map(|tag| tag.as_str().to_owned()).collect()
    }

    /// Returns the rows of the post's hashtags.
    pub(crate) fn tag_rows(&self) -> Vec<TagRow> {
        let &Self { id, author_id, visibility, created_at, .. } = self;
        let row = |tag| TagRow { tag, created_at, id, author_id, visibility };
        self.tags().into_iter().map(row).collect()
    }

    pub(crate) fn post(self) -> Outcome<Post> {
        let (visibility, is_hidden) = shown_visibility(self.visibility, self.hidden_visibility)?;
        Ok(Post {
            id: self.id.0.into(),
            author: self.author_id.0.into(),
            text: PostText::restore(self.content),
            entities: self.entities.map(Entities::restore),
            attachments: attachments::of_post(self.image, self.attachments.as_deref())?,
            visibility,
            is_hidden,
            created_at: self.created_at.0,
            updated_at: self.updated_at.0,
        })
    }
}

/// The columns of a comment in the flat list of a post's comments.
#[derive(Debug, Clone, Queryable, Selectable)]
#[diesel(table_name = comments)]
pub(crate) struct FlatCommentRow {
    pub(crate) id: DbId,
    pub(crate) post_id: DbId,
    pub(crate) author_id: DbId,
    pub(crate) content: String,
    pub(crate) created_at: DbInstant,
    pub(crate) updated_at: DbInstant,
    pub(crate) is_hidden: bool,
}

impl FlatCommentRow {
    fn comment(self) -> Comment {
        Comment {
            id: self.id.0.into(),
            post: self.post_id.0.into(),
            author: self.author_id.0.into(),
            content: CommentText::restore(self.content),
            created_at: self.created_at.0,
            updated_at: self.updated_at.0,
            is_hidden: self.is_hidden,
        }
    }

    pub(crate) fn by(self, author: SummaryRow) -> CommentView {
        CommentView { comment: self.comment(), author: author.summary() }
    }
}

/// The columns of a comment that are written with it, without its counts.
#[derive(Debug, Clone, Queryable, Selectable, Insertable)]
#[diesel(table_name = comments, treat_none_as_default_value = false)]
pub(crate) struct CommentRow {
    pub(crate) id: DbId,
    pub(crate) post_id: DbId,
    pub(crate) author_id: DbId,
    pub(crate) content: String,
    pub(crate) created_at: DbInstant,
    pub(crate) updated_at: DbInstant,
    pub(crate) parent_id: Option<DbId>,
    pub(crate) reply_to_id: Option<DbId>,
    pub(crate) entities: Option<String>,
    pub(crate) is_hidden: bool,
}

impl CommentRow {
    pub(crate) fn of(NewComment { comment, reply, entities, .. }: &NewComment) -> Self {
        Self {
            id: DbId(comment.id.uuid()),
            post_id: DbId(comment.post.uuid()),
            author_id: DbId(comment.author.uuid()),
            content: comment.content.as_str().to_owned(),
            created_at: DbInstant(comment.created_at),
            updated_at: DbInstant(comment.updated_at),
            parent_id: reply.map(|reply| DbId(reply.thread.uuid())),
            reply_to_id: reply.map(|reply| DbId(reply.to.uuid())),
            entities: entities.as_ref().map(|entities| entities.as_str().to_owned()),
            is_hidden: comment.is_hidden,
        }
    }

    /// Returns the position of the comment among those of an author.
    pub(crate) fn keyset(&self) -> Keyset {
        keyset(self.created_at, self.id)
    }

    /// Returns the comment, its place in a thread if it is a reply, and the entities of its text.
    pub(crate) fn parts(self) -> (Comment, Option<Reply>, Option<Entities>) {
        let Self { id, post_id, author_id, content, created_at, updated_at, is_hidden, .. } = self;
        let Self { parent_id, reply_to_id, entities, .. } = self;
        let reply =
            parent_id.map(|parent| Reply { thread: parent.0.into(), to: reply_to_id.unwrap_or(parent).0.into() });
        let comment = FlatCommentRow { id, post_id, author_id, content, created_at, updated_at, is_hidden }.comment();
        (comment, reply, entities.map(Entities::restore))
    }
}

/// Returns the position of an entry, given its time and id.
pub(crate) fn keyset(at: DbInstant, id: DbId) -> Keyset {
    Keyset { at: at.0, id: id.0 }
}
