use agora_domain::Error;
use agora_domain::comments::{CommentAccess, CommentTarget};
use agora_domain::error::Resource;
use diesel::{BoolExpressionMethods, ExpressionMethods, OptionalExtension, QueryDsl, SelectableHelper};

pub(crate) use super::insert_comment as insert;
use super::{Conn, RunQueryDsl, built};
use crate::error::{Failure, Outcome};
use crate::rows::{Slice, SummaryRow};
use crate::schema::{CommentRow, comments, posts, users};
use crate::sql_types::{DbId, DbInstant};

const NO_COMMENT: Failure = Failure::Rule(Error::NotFound(Resource::Comment));

/// Returns the comment that `caller` names, unless its post is deleted.
pub(crate) async fn find_access(
    conn: &mut Conn<'_>,
    target: CommentTarget,
    caller: DbId,
) -> Outcome<Option<CommentAccess>> {
    let there = comments::table.inner_join(posts::table).filter(posts::deleted_at.is_null()).select((
        comments::id,
        comments::author_id,
        posts::author_id,
    ));
    let found = match target {
        CommentTarget::Comment(id) => there.filter(comments::id.eq(DbId(id.uuid()))).get_result(conn),
        CommentTarget::NewestOn(post) => there
            .filter(comments::post_id.eq(DbId(post.uuid())).and(comments::author_id.eq(caller)))
            .order((comments::created_at.desc(), comments::id.desc()))
            .limit(1)
            .get_result(conn),
    };
    let found: Option<(DbId, DbId, DbId)> = found.await.optional()?;
    Ok(found.map(|(DbId(id), DbId(author), DbId(post_author))| CommentAccess {
        id: id.into(),
        author: author.into(),
        post_author: post_author.into(),
    }))
}

pub(crate) async fn update(conn: &mut Conn<'_>, id: DbId, content: String, at: DbInstant) -> Outcome<()> {
    let updated = diesel::update(comments::table.find(id))
        .set((comments::content.eq(content), comments::updated_at.eq(at)))
        .execute(conn)
        .await?;
    if updated == 0 { Err(NO_COMMENT) } else { Ok(()) }
}

pub(crate) async fn delete(conn: &mut Conn<'_>, id: DbId) -> Outcome<()> {
    super::lock_counters_of(conn, id).await?;
    let post: Option<DbId> =
        diesel::delete(comments::table.find(id)).returning(comments::post_id).get_result(conn).await.optional()?;
    diesel::update(posts::table.find(post.ok_or(NO_COMMENT)?))
        .set(posts::comment_count.eq(posts::comment_count - 1))
        .execute(conn)
        .await?;
    Ok(())
}

pub(crate) async fn list(conn: &mut Conn<'_>, post: DbId, slice: Slice) -> Outcome<Vec<(CommentRow, SummaryRow)>> {
    let on_post = comments::table
        .inner_join(users::table)
        .filter(comments::post_id.eq(post))
        .select((CommentRow::as_select(), SummaryRow::as_select()));
    Ok(super::load!(on_post, comments, slice, conn)?)
}
