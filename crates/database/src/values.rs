//! Parameters and results of the query functions besides plain rows, shared by both databases.

use agora_domain::comments::ThreadedComment;
use agora_domain::notices::NotificationKind;
use agora_domain::notifications::{CommentExcerpt, Excerpt, Notification, PostExcerpt};
use agora_domain::page::Keyset;
use agora_domain::posts::{Liker, PostView, Visibility, VisibleTo};
use diesel::{Queryable, Selectable};

use crate::account_filters::DbViewer;
use crate::error::Outcome;
use crate::notices::{kind, kind_code};
use crate::rows::{After, CommentRow, PostRow, PreviewRow, SummaryRow, count, image_key, keyset, visibility_code};
use crate::schema::notifications;
use crate::sql_types::{DbId, DbInstant};

/// A post as a viewer sees it, with its author in the columns `R` and its likers in the columns `L`.
#[derive(Debug, Clone, Queryable)]
pub(crate) struct ViewRow<R, L> {
    pub(crate) post: PostRow,
    author: R,
    pub(crate) like_count: i64,
    comment_count: i64,
    liked_by_viewer: bool,
    pub(crate) viewer_follows: bool,
    bookmarked_by_viewer: bool,
    pub(crate) likers: L,
}

impl<R, L> ViewRow<R, L> {
    /// Returns the view of the post, given its newest likers, newest first, and the conversion of its author.
    pub(crate) fn view<A>(self, liked_by: Vec<Liker>, author: fn(R) -> Outcome<A>) -> Outcome<PostView<A>> {
        Ok(PostView {
            post: self.post.post()?,
            author: author(self.author)?,
            liked_by,
            like_count: count(self.like_count),
            liked_by_viewer: self.liked_by_viewer,
            comment_count: count(self.comment_count),
            bookmarked_by_viewer: self.bookmarked_by_viewer,
        })
    }
}

/// The time and id of the list entry that shows a post, then the post as the viewer sees it.
pub(crate) type ViewedPost = (DbInstant, DbId, PostView);

/// Returns the codes of visibilities, padded with the first one; -1, which no post has, if there are none.
pub(crate) fn visible_codes(visible: &[Visibility]) -> Visible {
    let code = |n: usize| visible.get(n).or(visible.first()).map_or(-1, |visible| visibility_code(*visible));
    [code(0), code(1), code(2)]
}

/// The codes of the visibilities that a list shows. With fewer than three, one code is repeated, so that the statement is always
/// the same and stays prepared.
pub(crate) type Visible = [i16; 3];

/// Which posts a viewer may view, whoever wrote them, as the values of a query.
#[derive(Debug, Clone, Copy)]
pub(crate) struct VisiblePosts {
    /// The viewer, who may view all posts of their own.
    pub(crate) viewer: DbViewer,
    /// The visibilities shown of authors whom the viewer follows.
    pub(crate) followed: Visible,
    /// The visibilities shown of all other authors.
    pub(crate) others: Visible,
}

impl VisiblePosts {
    pub(crate) fn of(VisibleTo { viewer, followed, others }: VisibleTo) -> Self {
        let (followed, others) = (visible_codes(followed), visible_codes(others));
        Self { viewer: DbViewer::of(viewer), followed, others }
    }
}

/// The codes of the kinds of notifications in a filter, padded by repetition as in [`Visible`].
pub(crate) type Kinds = [i16; NotificationKind::ALL.len()];

/// Returns the codes of kinds of notifications, or of all kinds if none is given.
pub(crate) fn kind_codes(kinds: &[NotificationKind]) -> Kinds {
    let kinds = if kinds.is_empty() { &NotificationKind::ALL } else { kinds };
    let code = |n: usize| kinds.get(n).or(kinds.first()).map_or(-1, |kind| kind_code(*kind));
    std::array::from_fn(code)
}

/// Returns the visibilities of a list without duplicates, for queries that walk the index once for each visibility.
pub(crate) fn distinct(visible: Visible) -> Vec<i16> {
    let mut distinct = visible.to_vec();
    distinct.sort_unstable();
    distinct.dedup();
    distinct
}

/// The time and id of a relation, then the user at its other end.
pub(crate) type Related = (DbInstant, DbId, SummaryRow);

/// The folded text of a catalog filter, which a product must contain.
#[derive(Debug, Clone)]
pub(crate) struct TextFilter {
    pub(crate) text: String,
    /// The distinct sequences of three characters in the text; the whole text if it is shorter.
    pub(crate) ngrams: Vec<String>,
}

impl TextFilter {
    pub(crate) fn new(text: &str) -> Self {
        let characters: Vec<char> = text.chars().collect();
        let mut ngrams: Vec<String> = characters.windows(3).map(|three| three.iter().collect()).collect();
        if ngrams.is_empty() {
            ngrams.push(text.to_owned());
        }
        ngrams.sort_unstable();
        ngrams.dedup();
        Self { text: text.to_owned(), ngrams }
    }
}

/// A comment in its thread, as a viewer sees it.
#[derive(Debug, Clone, Queryable)]
pub(crate) struct ThreadedRow {
    row: CommentRow,
    author: PreviewRow,
    reply_count: i64,
    like_count: i64,
    liked_by_viewer: bool,
}

impl ThreadedRow {
    /// Returns the position of the comment in its list.
    pub(crate) fn keyset(&self) -> Keyset {
        keyset(self.row.created_at, self.row.id)
    }

    /// Returns the position after which the list continues.
    pub(crate) fn after(&self) -> After {
        After(self.row.created_at, self.row.id)
    }

    pub(crate) fn comment(self) -> Outcome<ThreadedComment> {
        let (comment, reply, entities) = self.row.parts();
        Ok(ThreadedComment {
            comment,
            reply,
            entities,
            author: self.author.preview()?,
            reply_count: count(self.reply_count),
            like_count: count(self.like_count),
            liked_by_viewer: self.liked_by_viewer,
        })
    }
}

/// A notification as it is stored.
#[derive(Debug, Clone, Queryable, Selectable)]
#[diesel(table_name = notifications)]
pub(crate) struct NotificationRow {
    pub(crate) id: DbId,
    kind: i16,
    created_at: DbInstant,
    updated_at: DbInstant,
    is_read: bool,
    count: i64,
    /// The actor, if the notification is about a single act and gathers no others.
    pub(crate) actor_id: Option<DbId>,
    pub(crate) post_id: Option<DbId>,
    pub(crate) comment_id: Option<DbId>,
}

/// A notification with its newest actors, the text and image of its post, and the text of its comment.
#[derive(Debug, Clone)]
pub(crate) struct NotificationViewRow {
    pub(crate) row: NotificationRow,
    pub(crate) actors: Vec<PreviewRow>,
    pub(crate) post: Option<(String, Option<String>)>,
    pub(crate) comment: Option<String>,
}

impl NotificationRow {
    /// Returns the position of the notification in the recipient's list.
    pub(crate) fn keyset(&self) -> Keyset {
        keyset(self.updated_at, self.id)
    }
}

impl NotificationViewRow {
    pub(crate) fn notification(self) -> Outcome<Notification> {
        let Self { row, actors, post, comment } = self;
        let post_excerpt = |(id, (text, image)): (DbId, (_, _))| {
            Outcome::Ok(PostExcerpt { id: id.0.into(), content: Excerpt::of(text), image: image_key(image)? })
        };
        let comment_excerpt = |(id, text): (DbId, _)| CommentExcerpt { id: id.0.into(), content: Excerpt::of(text) };
        Ok(Notification {
            id: row.id.0.into(),
            kind: kind(row.kind)?,
            created_at: row.created_at.0,
            updated_at: row.updated_at.0,
            read: row.is_read,
            count: count(row.count),
            actors: actors.into_iter().map(PreviewRow::preview).collect::<Outcome<_>>()?,
            post: row.post_id.zip(post).map(post_excerpt).transpose()?,
            comment: row.comment_id.zip(comment).map(comment_excerpt),
        })
    }
}
