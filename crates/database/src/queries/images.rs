use agora_domain::{Error, error::ImageCollected};
use diesel::{BoolExpressionMethods, ExpressionMethods, QueryDsl};

use super::{Conn, RunQueryDsl};
use crate::{
    error::{Failure, Outcome},
    schema::unnamed_images,
    sql_types::DbInstant,
};

/// Records an image that is about to be stored.
pub(crate) async fn announce(conn: &mut Conn, key: String, at: DbInstant) -> Outcome<()> {
    let record = (unnamed_images::key.eq(key), unnamed_images::since.eq(at), unnamed_images::condemned.eq(false));
    diesel::insert_into(unnamed_images::table).values(record).execute(conn).await?;
    Ok(())
}

/// Condemns some of the images recorded before an instant, the oldest records first.
pub(crate) async fn condemn(conn: &mut Conn, cutoff: DbInstant, now: DbInstant, limit: i64) -> Outcome<Vec<String>> {
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

pub(crate) async fn forget(conn: &mut Conn, keys: Vec<String>) -> Outcome<()> {
    diesel::delete(unnamed_images::table.filter(unnamed_images::key.eq_any(keys))).execute(conn).await?;
    Ok(())
}

/// Keeps the record in step with a row that named the image `old` and names `new` from now on.
pub(super) async fn replace(conn: &mut Conn, old: Option<&str>, new: Option<&str>, at: DbInstant) -> Outcome<()> {
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
