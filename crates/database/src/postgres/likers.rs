//! The newest likers of posts, as a column of the query.

use agora_domain::posts::{PostView, SHOWN_LIKERS};
use diesel::QueryResult;
use diesel::expression::ValidGrouping;
use diesel::pg::Pg;
use diesel::query_builder::{AstPass, QueryFragment, QueryId};
use diesel::sql_types::{Array, Nullable, Record, Text};

use super::dialect::Conn;
use crate::account_filters::{DbViewer, push_is_blocked};
use crate::error::Outcome;
use crate::expression::expression;
use crate::rows::LikerRow;
use crate::schema::posts;
use crate::sql_types::{DbId, Id};
use crate::values::ViewRow;

/// The value of the likers column of a post: the newest likers, or `None` if there are none.
pub(crate) type Likers = Option<Vec<(DbId, String, Option<String>)>>;

/// The likers column, an array of records, which diesel can read but not construct. Of a post with many likes only the newest
/// are read, by the index.
#[derive(Debug, Clone, Copy, QueryId, ValidGrouping)]
pub(crate) struct NewestLikers {
    viewer: DbViewer,
}

/// Returns the likers column, without users whom the viewer blocks or who block the viewer.
pub(crate) const fn likers(viewer: DbViewer) -> NewestLikers {
    NewestLikers { viewer }
}

expression! { NewestLikers: Nullable<Array<Record<(Id, Text, Nullable<Text>)>>>, of posts::id }

impl QueryFragment<Pg> for NewestLikers {
    fn walk_ast<'b>(&'b self, mut out: AstPass<'_, 'b, Pg>) -> QueryResult<()> {
        out.push_sql(
            "CASE WHEN posts.like_count > 0 THEN ARRAY(\
                SELECT ROW(u.id, u.username, u.profile_picture) FROM (\
                    SELECT l.user_id, l.created_at, l.id FROM likes l WHERE l.post_id = posts.id AND NOT ",
        );
        push_is_blocked(&mut out, &self.viewer.blocks_of, |mut out| {
            out.push_sql("l.user_id");
            Ok(())
        })?;
        out.push_sql(
            " ORDER BY l.created_at DESC, l.id DESC LIMIT 50\
                ) n JOIN users u ON u.id = n.user_id WHERE NOT u.is_deleted ORDER BY n.created_at DESC, n.id DESC\
            ) END",
        );
        Ok(())
    }
}

// The limit in the SQL above.
const _: () = assert!(SHOWN_LIKERS == 50);

/// Turns rows into views of posts, with their newest likers.
pub(crate) async fn with_likers<R, A>(
    _: &mut Conn<'_>,
    rows: Vec<ViewRow<R, Likers>>,
    _: DbViewer,
    author: fn(R) -> Outcome<A>,
) -> Outcome<Vec<PostView<A>>> {
    let liker = |(id, username, profile_picture)| LikerRow { id, username, profile_picture }.liker();
    let view = |mut row: ViewRow<R, Likers>| {
        let likers = row.likers.take().unwrap_or_default();
        row.view(likers.into_iter().map(liker).collect::<Outcome<_>>()?, author)
    };
    rows.into_iter().map(view).collect()
}
