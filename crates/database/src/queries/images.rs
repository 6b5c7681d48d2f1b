use agora_domain::Error;
use agora_domain::error::ImageCollected;
use diesel::query_dsl::positional_order_dsl::PositionalOrderDsl;
use diesel::{BoolExpressionMethods, CombineDsl, ExpressionMethods, NullableExpressionMethods, QueryDsl};

use super::{Conn, RunQueryDsl};
use crate::error::{Failure, Outcome};
use crate::schema::{posts, unnamed_images, users};
use crate::sql_types::{DbId, DbInstant};

/// Records an image that is about to be stored.
pub(crate) async fn announce(conn: &mut Conn<'_>, key: String, at: DbInstant) -> Outcome<()> {
    let record = (unnamed_images::key.eq(key), unnamed_images::since.eq(at), unnamed_images::condemned.eq(false));
    diesel::insert_into(unnamed_images::table).values(record).execute(conn).await?;
    Ok(())
}

/// Condemns some of the images recorded before an instant, the oldest records first.
pub(crate) async fn mark_for_deletion(
    conn: &mut Conn<'_>,
    cutoff: DbInstant,
    now: DbInstant,
    limit: i64,
) -> Outcome<Vec<String>> {
    let oldest = unnamed_images::table.order((unnamed_images::since, unnamed_images::key)).limit(limit);
    let keys: Vec<String> =
        oldest.filter(unnamed_images::since.lt(cutoff)).select(unnamed_images::key).load(conn).await?;
    // A row may have come to name one since it was read: then its record is gone, and it is left alone.
    let recorded = unnamed_images::key.eq_any(keys).and(unnamed_images::since.lt(cutoff));
    Ok(diesel::update(unnamed_images::table.filter(recorded))
        .set((unnamed_images::since.eq(now), unnamed_images::condemned.eq(true)))
        .returning(unnamed_images::key)
        .load(conn)
        .await?)
}

/// Returns those of the images that are on record.
pub(crate) async fn recorded(conn: &mut Conn<'_>, keys: Vec<String>) -> Outcome<Vec<String>> {
    let recorded = unnamed_images::table.filter(unnamed_images::key.eq_any(keys));
    Ok(recorded.select(unnamed_images::key).load(conn).await?)
}

/// Returns the images of a folder that rows name, and whose they are.
pub(crate) async fn named_in(conn: &mut Conn<'_>, folder: u8) -> Outcome<Vec<(String, DbId)>> {
    let from = format!("{folder:02x}");
    // What comes after the last hexadecimal digit, after the last folder.
    let to = folder.checked_add(1).map_or_else(|| "g".to_owned(), |next| format!("{next:02x}"));
    let posted = posts::table.filter(posts::image.ge(from.clone()).and(posts::image.lt(to.clone())));
    let shown = users::table.filter(users::profile_picture.ge(from).and(users::profile_picture.lt(to)));
    let pictures = shown.select((users::profile_picture.assume_not_null(), users::id));
    let named = posted.select((posts::image.assume_not_null(), posts::author_id)).union_all(pictures);
    Ok(named.load(conn).await?)
}

/// Returns those of the images that rows name.
pub(crate) async fn named_of(conn: &mut Conn<'_>, keys: Vec<String>) -> Outcome<Vec<String>> {
    let posted = posts::table.filter(posts::image.eq_any(keys.clone()));
    let shown = users::table.filter(users::profile_picture.eq_any(keys));
    let pictures = shown.select(users::profile_picture.assume_not_null());
    Ok(posted.select(posts::image.assume_not_null()).union_all(pictures).load(conn).await?)
}

/// Returns the images that rows name and that come after one of a name, in the order of their names.
pub(crate) async fn named_after(conn: &mut Conn<'_>, after: String, limit: i64) -> Outcome<Vec<String>> {
    let posted = posts::table.filter(posts::image.gt(after.clone())).select(posts::image.assume_not_null());
    let shown = users::table.filter(users::profile_picture.gt(after)).select(users::profile_picture.assume_not_null());
    Ok(posted.union_all(shown).positional_order_by(1).limit(limit).load(conn).await?)
}

pub(crate) async fn forget(conn: &mut Conn<'_>, keys: Vec<String>) -> Outcome<()> {
    diesel::delete(unnamed_images::table.filter(unnamed_images::key.eq_any(keys))).execute(conn).await?;
    Ok(())
}

/// Keeps the record in step with a row that named the image `old` and names `new` from now on.
pub(crate) async fn replace(conn: &mut Conn<'_>, old: Option<&str>, new: Option<&str>, at: DbInstant) -> Outcome<()> {
    if old == new {
        return Ok(());
    }
    if let Some(new) = new {
        let recorded = unnamed_images::table.find(new).filter(unnamed_images::condemned.eq(false));
        if diesel::delete(recorded).execute(conn).await? == 0 {
            return Err(Failure::Rule(Error::unavailable(ImageCollected)));
        }
    }
    if let Some(old) = old {
        announce(conn, old.to_owned(), at).await?;
    }
    Ok(())
}
