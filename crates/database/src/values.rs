//! What the ports hand to the query functions and get back, besides rows: shared by every database.

use agora_domain::posts::Liker;
use diesel::Queryable;

use crate::rows::{PostRow, SummaryRow};
use crate::sql_types::{DbId, DbInstant};

/// The account, when it logged in and out, then whether it is enabled, ADMIN, USER.
pub(crate) type SessionRow = (DbId, DbInstant, Option<DbInstant>, bool, bool, bool);

/// A post as a viewer sees it, its author in the columns `A`, and of its likers what the columns `L` say.
#[derive(Debug, Clone, Queryable)]
pub(crate) struct ViewRow<A, L> {
    pub(crate) post: PostRow,
    pub(crate) author: A,
    pub(crate) like_count: i64,
    pub(crate) comment_count: i64,
    pub(crate) liked_by_viewer: bool,
    pub(crate) viewer_follows: bool,
    pub(crate) liked_by: L,
}

/// A post as a viewer sees it, with its newest likers, newest first.
pub(crate) type PostViewRow<A> = ViewRow<A, Vec<Liker>>;

impl<A> PostViewRow<A> {
    /// A new post as its author sees it.
    pub(crate) fn new(post: PostRow, author: A) -> Self {
        let (liked_by_viewer, viewer_follows, liked_by) = (false, false, Vec::new());
        Self { post, author, like_count: 0, comment_count: 0, liked_by_viewer, viewer_follows, liked_by }
    }
}

impl<A, L> ViewRow<A, L> {
    /// The same with these likers.
    pub(crate) fn liked_by(self, liked_by: Vec<Liker>) -> PostViewRow<A> {
        let Self { post, author, like_count, comment_count, liked_by_viewer, viewer_follows, .. } = self;
        ViewRow { post, author, like_count, comment_count, liked_by_viewer, viewer_follows, liked_by }
    }
}

/// The visibilities that a list shows; one stands in the place of those it has not, so that the statement is always the
/// same and stays prepared.
pub(crate) type Visible = [i16; 3];

/// Returns each visibility of a list once: what is read by its index is read visibility by visibility.
pub(crate) fn distinct(visible: Visible) -> Vec<i16> {
    let mut distinct = visible.to_vec();
    distinct.sort_unstable();
    distinct.dedup();
    distinct
}

/// The comment, its author, the author of its post.
pub(crate) type CommentAccessRow = (DbId, DbId, DbId);

/// The attempt on record, the digest of what the request said, when it began, and what it did.
pub(crate) type AttemptRow = (DbId, Vec<u8>, DbInstant, Option<Vec<u8>>);

/// When the relation was made and its id, then the user at its other end.
pub(crate) type Related = (DbInstant, DbId, SummaryRow);

/// A folded text that products are to have in them.
#[derive(Debug, Clone)]
pub(crate) struct TextFilter {
    /// A pattern that LIKE matches to every text that contains it literally, with a backslash as the escape.
    pub(crate) pattern: String,
    /// Its sequences of three characters, each once; the whole of it when it has fewer.
    pub(crate) ngrams: Vec<String>,
}

impl TextFilter {
    pub(crate) fn new(text: &str) -> Self {
        let pattern = format!("%{}%", text.replace('\\', "\\\\").replace('%', "\\%").replace('_', "\\_"));
        let characters: Vec<char> = text.chars().collect();
        let mut ngrams: Vec<String> = characters.windows(3).map(|three| three.iter().collect()).collect();
        if ngrams.is_empty() {
            ngrams.push(text.to_owned());
        }
        ngrams.sort_unstable();
        ngrams.dedup();
        Self { pattern, ngrams }
    }
}
