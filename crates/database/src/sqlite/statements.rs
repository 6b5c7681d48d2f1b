//! The writes that PostgreSQL does by one call of a function, under the same names.

use agora_domain::Error;
use agora_domain::error::Resource;
use agora_domain::events::Event;
use agora_domain::notices::Notice;
use diesel::{ExpressionMethods, QueryDsl, SelectableHelper};

use super::dialect::{Conn, RunQueryDsl};
use super::events::record;
use super::queries::{images, indexing, likes, notices, texts};
use crate::attachments;
use crate::error::{Failure, Outcome};
use crate::prepared::prepared;
use crate::rows::{AuthorRow, CommentRow, PostRow};
use crate::schema::{LikeRecord, comments, posts, users};
use crate::search_index::TextRow;

/// Turns the like on if it is off, off if it is on.
pub(crate) async fn toggle_like(conn: &mut Conn<'_>, like: LikeRecord, notice: Option<Notice>) -> Outcome<bool> {
    let (post, user) = (like.post_id, like.user_id);
    let likes = likes::insert(conn, like, notice).await?;
    if !likes {
        likes::delete(conn, post, user).await?;
    }
    Ok(likes)
}

/// Stores a top-level comment, counts it, and notifies of it.
pub(crate) async fn insert_comment(conn: &mut Conn<'_>, row: CommentRow, notices: Vec<Notice>) -> Outcome<()> {
    let post = posts::table.find(row.post_id).filter(posts::deleted_at.is_null());
    let counted = diesel::update(post).set(posts::comment_count.eq(posts::comment_count + 1));
    let counted = prepared(counted).execute(conn).await?;
    if counted == 0 {
        return Err(Failure::Rule(Error::NotFound(Resource::Post)));
    }
    let event = Event::Commented(row.post_id.0.into(), row.id.0.into(), row.author_id.0.into());
    diesel::insert_into(comments::table).values(row).execute(conn).await?;
    record(conn, event).await?;
    notices::notify(conn, &notices).await
}

/// Stores a post with its search text, makes its images referenced, and notifies of it. Returns its author.
pub(crate) async fn insert_post(
    conn: &mut Conn<'_>,
    row: PostRow,
    text: TextRow,
    notices: Vec<Notice>,
) -> Outcome<AuthorRow> {
    let (id, author, at) = (row.id, row.author_id, row.created_at);
    let stored = diesel::insert_into(posts::table).values((&row, posts::indexed.eq(true))).execute(conn).await;
    stored.map_err(Failure::missing(Resource::User))?;
    texts::insert_tags(conn, &row).await?;
    indexing::insert(conn, text).await?;
    images::replace_of_post(conn, id, &[], &attachments::of_post(row.image, row.attachments.as_deref())?, at).await?;
    record(conn, Event::PostCreated(id.0.into(), author.0.into())).await?;
    notices::notify(conn, &notices).await?;
    Ok(users::table.find(author).select(AuthorRow::as_select()).get_result(conn).await?)
}
