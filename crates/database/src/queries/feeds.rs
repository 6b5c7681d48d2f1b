use agora_domain::page::Keyset;
use diesel::dsl::auto_type;
use diesel::{BoolExpressionMethods, ExpressionMethods, QueryDsl, SelectableHelper};

use super::posts::{author_followed_by, liked_by, load_in_order, view};
use super::{Conn, RunQueryDsl, likers, post_in, with_likers};
pub(crate) use super::{feed_positions as positions, load_feed as load, read_with_changes};
use crate::error::Outcome;
use crate::feeds::{FeedQuery, ids, limit};
use crate::rows::{AuthorRow, PostRow};
use crate::schema::{posts, users};
use crate::values::PostViewRow;

#[auto_type]
fn is_one_of(one: i16, two: i16, three: i16) -> _ {
    posts::visibility.eq(one).or(posts::visibility.eq(two)).or(posts::visibility.eq(three))
}

/// Reads the posts at positions that are there, have one of the visibilities, and whose author the viewer follows.
pub(crate) async fn read(
    conn: &mut Conn<'_>,
    FeedQuery { viewer, visible: [one, two, three], toward, limit: most }: FeedQuery,
    keys: Vec<Keyset>,
) -> Outcome<Vec<PostViewRow<AuthorRow>>> {
    let views = posts::table
        .inner_join(users::table)
        .filter(post_in(ids(keys)))
        .filter(posts::deleted_at.is_null())
        .filter(is_one_of(one, two, three))
        .filter(author_followed_by(viewer))
        .limit(limit(most))
        .select(view!(AuthorRow, viewer));
    let rows = load_in_order!(views, toward, conn);
    with_likers(conn, rows).await
}
