//! Writes together with their counters, notifications and image records, each as one call of a function of the schema:
//! `migrations/postgres/2026-11-26-140000_quick_writes` and `2026-11-27-000000_attachments`.
//!
//! As diesel statements, everything that a write may have to do was set up at each execution. Measured by pgbench alone, the
//! calls ran more often: a like 1.60 times, a comment 1.26, a post 1.45.

#![allow(clippy::too_many_arguments, reason = "a function of the schema takes the columns of a row")]

use agora_domain::Error;
use agora_domain::error::{ImageCollected, Resource};
use agora_domain::notices::Notice;
use diesel::sql_types::{Array, Integer, Nullable, SmallInt, Text};
use diesel::{OptionalExtension, QueryDsl, SelectableHelper, define_sql_function};

use super::dialect::{Conn, RunQueryDsl};
use crate::attachments;
use crate::error::{Failure, Outcome};
use crate::notices::{gathered_row, kind_code};
use crate::rows::{AuthorRow, CommentRow, PostRow};
use crate::schema::{LikeRecord, users};
use crate::search_index::TextRow;
use crate::sql_types::{DbId, Id, Instant};

define_sql_function! {
    /// Toggles a like. Returns whether it is on then, or null if there is no such post.
    #[sql_name = "toggle_like"]
    fn call_toggle_like(
        post: Id, liker: Id, id: Id, at: Instant, notice: Nullable<Id>, recipient: Nullable<Id>, day: Integer,
    ) -> Nullable<Bool>;
}

define_sql_function! {
    /// Stores a top-level comment. Returns whether its post exists.
    #[sql_name = "insert_comment"]
    fn call_insert_comment(
        id: Id, post: Id, author: Id, content: Text, at: Instant, changed: Instant, entities: Nullable<Text>,
        notices: Array<Id>, kinds: Array<SmallInt>, recipients: Array<Id>,
    ) -> Bool;
}

define_sql_function! {
    /// Stores a post. Returns whether its images were on record as referenced by no row.
    #[sql_name = "insert_post"]
    fn call_insert_post(
        id: Id, author: Id, content: Text, images: Array<Text>, attachments: Nullable<Text>, visibility: SmallInt, at: Instant, changed: Instant,
        entities: Nullable<Text>, words: Text, tags: Array<Text>, notices: Array<Id>, kinds: Array<SmallInt>, recipients: Array<Id>,
    ) -> Bool;
}

/// Turns the like on if it is off, off if it is on.
pub(crate) async fn toggle_like(conn: &mut Conn<'_>, like: LikeRecord, notice: Option<Notice>) -> Outcome<bool> {
    let LikeRecord { post_id, user_id, id, created_at } = like;
    let row = notice.as_ref().map(gathered_row);
    let (notice, recipient) = (row.as_ref().map(|row| row.id), row.as_ref().map(|row| row.recipient_id));
    let day = row.and_then(|row| row.day).unwrap_or_default();
    let call = call_toggle_like(post_id, user_id, id, created_at, notice, recipient, day);
    let toggled = diesel::select(call).get_result::<Option<bool>>(conn).await;
    toggled.map_err(Failure::missing(Resource::User))?.ok_or(Failure::Rule(Error::NotFound(Resource::Post)))
}

/// Returns notices that are not gathered as the arguments of one call: ids, kinds and recipients, at the same index each.
fn notice_columns(notices: &[Notice]) -> (Vec<DbId>, Vec<i16>, Vec<DbId>) {
    let values = |notice: &Notice| (DbId(notice.id.uuid()), kind_code(notice.kind), DbId(notice.recipient.uuid()));
    notices.iter().map(values).collect()
}

/// Stores a top-level comment, counts it, and notifies of it.
pub(crate) async fn insert_comment(conn: &mut Conn<'_>, row: CommentRow, notices: Vec<Notice>) -> Outcome<()> {
    let (ids, kinds, recipients) = notice_columns(&notices);
    let CommentRow { id, post_id, author_id, content, created_at, updated_at, entities, .. } = row;
    let call =
        call_insert_comment(id, post_id, author_id, content, created_at, updated_at, entities, ids, kinds, recipients);
    let is_stored = diesel::select(call).get_result(conn).await?;
    if is_stored { Ok(()) } else { Err(Failure::Rule(Error::NotFound(Resource::Post))) }
}

/// Stores a post with its search text, makes its images referenced, and notifies of it. Returns its author.
pub(crate) async fn insert_post(
    conn: &mut Conn<'_>,
    row: PostRow,
    text: TextRow,
    notices: Vec<Notice>,
) -> Outcome<AuthorRow> {
    let (tags, (ids, kinds, recipients)) = (row.tags(), notice_columns(&notices));
    let PostRow { id, author_id, content, image, attachments, visibility, created_at, updated_at, entities, .. } = row;
    let images = attachments::of_post(image, attachments.as_deref())?;
    let images: Vec<String> = images.into_iter().map(|image| image.key.as_str().to_owned()).collect();
    let call = call_insert_post(
        id,
        author_id,
        content,
        images,
        attachments,
        visibility,
        created_at,
        updated_at,
        entities,
        text.words,
        tags,
        ids,
        kinds,
        recipients,
    );
    let author = users::table.find(author_id).select((AuthorRow::as_select(), call));
    let found: Option<(AuthorRow, bool)> =
        author.get_result(conn).await.optional().map_err(Failure::missing(Resource::User))?;
    match found {
        Some((author, true)) => Ok(author),
        Some((_, false)) => Err(Failure::Rule(Error::unavailable(ImageCollected))),
        None => Err(Failure::Rule(Error::NotFound(Resource::User))),
    }
}
