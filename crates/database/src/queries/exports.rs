//! The data that users export.

use agora_domain::export::RelationKind;
use diesel::{BoolExpressionMethods, ExpressionMethods, NullableExpressionMethods, QueryDsl, SelectableHelper};

use super::{Conn, RunQueryDsl, built};
use crate::error::Outcome;
use crate::rows::{CommentRow, Slice};
use crate::schema::{ReportRecord, blocks, bookmarks, comment_likes, comments, follows, likes, mutes, posts, reports};
use crate::sql_types::{DbId, DbInstant};

/// Returns a slice of the comments of an author, except those on deleted posts.
pub(crate) async fn comments(conn: &mut Conn<'_>, author: DbId, slice: Slice) -> Outcome<Vec<CommentRow>> {
    let written = comments::table.inner_join(posts::table).filter(posts::deleted_at.is_null());
    let written = written.filter(comments::author_id.eq(author)).select(CommentRow::as_select());
    Ok(super::load!(written, comments, slice, conn)?)
}

/// Returns a slice of the reports of an account.
pub(crate) async fn reports(conn: &mut Conn<'_>, reporter: DbId, slice: Slice) -> Outcome<Vec<ReportRecord>> {
    let made = reports::table.filter(reports::reporter_id.eq(reporter)).select(ReportRecord::as_select());
    Ok(super::load!(made, reports, slice, conn)?)
}

/// The time and id of a relation, and the id of its target.
pub(crate) type Relation = (DbInstant, DbId, DbId);

/// Returns a slice of a user's relations of a kind.
pub(crate) async fn relations(
    conn: &mut Conn<'_>,
    user: DbId,
    kind: RelationKind,
    slice: Slice,
) -> Outcome<Vec<Relation>> {
    macro_rules! of {
        ($table:ident($by:ident, $to:ident)) => {{
            let made = $table::table.filter($table::$by.eq(user));
            let made = made.select(($table::created_at, $table::id, $table::$to));
            super::load!(made, $table, slice, conn)?
        }};
    }
    Ok(match kind {
        RelationKind::Like => of!(likes(user_id, post_id)),
        RelationKind::CommentLike => of!(comment_likes(user_id, comment_id)),
        RelationKind::Follow => of!(follows(follower_id, followed_id)),
        RelationKind::Mute => of!(mutes(muter_id, muted_id)),
        RelationKind::Bookmark => of!(bookmarks(user_id, post_id)),
        RelationKind::Block => {
            let (at, id) = (blocks::created_at.assume_not_null(), blocks::id.assume_not_null());
            let made = blocks::table.filter(blocks::user_id.eq(user).and(blocks::id.is_not_null()));
            crate::rows::load_by!(made.select((at, id, blocks::other_id)), at, id, slice, conn)?
        }
    })
}
