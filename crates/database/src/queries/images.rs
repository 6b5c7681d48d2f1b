use diesel::{ExpressionMethods, QueryDsl};

use super::{Conn, RunQueryDsl};
use crate::{
    error::Outcome,
    schema::{posts, users},
};

/// Those of the keys that a post or a profile names.
pub(crate) async fn referenced(conn: &mut Conn, keys: Vec<String>) -> Outcome<Vec<Option<String>>> {
    let mut found: Vec<Option<String>> =
        posts::table.filter(posts::image.eq_any(&keys)).select(posts::image).load(conn).await?;
    found.extend(
        users::table
            .filter(users::profile_picture.eq_any(&keys))
            .select(users::profile_picture)
            .load::<Option<String>>(conn)
            .await?,
    );
    Ok(found)
}
