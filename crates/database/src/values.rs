//! What the ports hand to the query functions and get back, besides rows: shared by every database.

use agora_domain::clock::Timestamp;
use agora_domain::idempotency::Fingerprints;
use agora_domain::posts::Liker;
use diesel::Queryable;

use crate::rows::{PostRow, SummaryRow, UserRow};
use crate::sql_types::{DbId, DbInstant};

/// A new account: its row, then what the row of a listing leaves out.
#[derive(Clone)]
pub(crate) struct NewUser {
    pub(crate) row: UserRow,
    pub(crate) username_key: String,
    pub(crate) email_key: String,
    pub(crate) password_hash: String,
}

/// A new password in place of the one verified.
#[derive(Clone)]
pub(crate) struct NewPassword {
    pub(crate) user: DbId,
    pub(crate) verified: String,
    pub(crate) new: String,
    pub(crate) keep: Option<DbId>,
    pub(crate) at: DbInstant,
}

/// Which column names an account at login.
#[derive(Debug, Clone)]
pub(crate) enum Login {
    UsernameKey(String),
    EmailKey(String),
}

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

/// A like about to be made.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LikeRow {
    pub(crate) post: DbId,
    pub(crate) user: DbId,
    pub(crate) id: DbId,
    pub(crate) at: DbInstant,
}

/// The comment, its author, the author of its post.
pub(crate) type CommentAccessRow = (DbId, DbId, DbId);

/// An attempt about to be put on record.
#[derive(Debug, Clone)]
pub(crate) struct NewAttempt {
    pub(crate) attempt: DbId,
    pub(crate) caller: DbId,
    pub(crate) route: String,
    pub(crate) key: String,
    pub(crate) fingerprints: Fingerprints,
    pub(crate) now: Timestamp,
}

/// The attempt on record, the digest of what the request said, when it began, and what it did.
pub(crate) type AttemptRow = (DbId, Vec<u8>, DbInstant, Option<Vec<u8>>);

/// A relation about to be made.
#[derive(Debug, Clone, Copy)]
pub(crate) struct FollowRow {
    pub(crate) follower: DbId,
    pub(crate) followed: DbId,
    pub(crate) id: DbId,
    pub(crate) at: DbInstant,
}

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
        let mut pattern = String::with_capacity(text.len() + 2);
        pattern.push('%');
        for c in text.chars() {
            if matches!(c, '%' | '_' | '\\') {
                pattern.push('\\');
            }
            pattern.push(c);
        }
        pattern.push('%');
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
