use agora_domain::Error;
use agora_domain::error::ImageCollected;
use agora_domain::media::Attachment;
use diesel::dsl::{auto_type, sql};
use diesel::sql_types::Bool;
use diesel::{
    BoolExpressionMethods, CombineDsl, ExpressionMethods, NullableExpressionMethods, OptionalExtension, QueryDsl,
};

use super::{Conn, RunQueryDsl, word_in};
use crate::error::{Failure, Outcome};
use crate::schema::{PostImageRecord, post_images, posts, unnamed_images, users};
use crate::sql_types::{DbId, DbInstant};
use crate::transfer::Naming;

/// Records an image that is about to be stored.
pub(crate) async fn announce(conn: &mut Conn<'_>, key: String, at: DbInstant) -> Outcome<()> {
    let record = (unnamed_images::key.eq(key), unnamed_images::since.eq(at), unnamed_images::condemned.eq(false));
    diesel::insert_into(unnamed_images::table).values(record).on_conflict_do_nothing().execute(conn).await?;
    Ok(())
}

/// Condemns some of the images recorded before an instant, or condemned before now, the oldest records first.
pub(crate) async fn mark_for_deletion(
    conn: &mut Conn<'_>,
    cutoff: DbInstant,
    now: DbInstant,
    limit: i64,
) -> Outcome<Vec<String>> {
    let was_condemned = unnamed_images::condemned.and(unnamed_images::since.lt(now));
    let is_old = unnamed_images::since.lt(cutoff).or(was_condemned);
    let oldest = unnamed_images::table.order((unnamed_images::since, unnamed_images::key)).limit(limit);
    let keys: Vec<String> = oldest.filter(is_old).select(unnamed_images::key).load(conn).await?;
    if keys.is_empty() {
        return Ok(keys);
    }
    // A row may have come to name one since it was read: then its record is gone, and it is left alone.
    let recorded = word_in(unnamed_images::key, keys).and(is_old);
    Ok(diesel::update(unnamed_images::table.filter(recorded))
        .set((unnamed_images::since.eq(now), unnamed_images::condemned.eq(true)))
        .returning(unnamed_images::key)
        .load(conn)
        .await?)
}

/// Returns those of the images that are on record.
pub(crate) async fn recorded(conn: &mut Conn<'_>, keys: Vec<String>) -> Outcome<Vec<String>> {
    let recorded = unnamed_images::table.filter(word_in(unnamed_images::key, keys));
    Ok(recorded.select(unnamed_images::key).load(conn).await?)
}

/// Returns the images of a folder that rows name, and whose they are.
pub(crate) async fn named_in(conn: &mut Conn<'_>, folder: u8) -> Outcome<Vec<(String, DbId)>> {
    let from = format!("{folder:02x}");
    // What comes after the last hexadecimal digit, after the last folder.
    let to = folder.checked_add(1).map_or_else(|| "g".to_owned(), |next| format!("{next:02x}"));
    let first = posts::table.filter(posts::image.ge(from.clone()).and(posts::image.lt(to.clone())));
    let first = first.select((posts::image.assume_not_null(), posts::author_id));
    let others = post_images::table.inner_join(posts::table);
    let others = others.filter(post_images::key.ge(from.clone()).and(post_images::key.lt(to.clone())));
    let others = others.select((post_images::key, posts::author_id));
    let shown = users::table.filter(users::profile_picture.ge(from).and(users::profile_picture.lt(to)));
    let pictures = shown.select((users::profile_picture.assume_not_null(), users::id));
    Ok(first.union_all(others).union_all(pictures).load(conn).await?)
}

/// Returns those of the images that rows name.
pub(crate) async fn named_of(conn: &mut Conn<'_>, keys: Vec<String>) -> Outcome<Vec<String>> {
    let first = posts::table
        .filter(word_in(posts::image.assume_not_null(), keys.clone()))
        .select(posts::image.assume_not_null());
    let others = post_images::table.filter(word_in(post_images::key, keys.clone())).select(post_images::key);
    let shown = users::table.filter(word_in(users::profile_picture.assume_not_null(), keys));
    let pictures = shown.select(users::profile_picture.assume_not_null());
    Ok(first.union_all(others).union_all(pictures).load(conn).await?)
}

/// Returns the images that rows of a kind name and that come after one of a name, in the order of their names.
pub(crate) async fn named_after(conn: &mut Conn<'_>, by: Naming, after: String, limit: i64) -> Outcome<Vec<String>> {
    Ok(match by {
        Naming::Post => {
            let named = posts::table.filter(posts::image.gt(after)).order(posts::image).limit(limit);
            named.select(posts::image.assume_not_null()).load(conn).await?
        }
        Naming::FurtherOfPost => {
            let named = post_images::table.filter(post_images::key.gt(after)).order(post_images::key).limit(limit);
            named.select(post_images::key).load(conn).await?
        }
        Naming::User => {
            let named =
                users::table.filter(users::profile_picture.gt(after)).order(users::profile_picture).limit(limit);
            named.select(users::profile_picture.assume_not_null()).load(conn).await?
        }
    })
}

#[auto_type]
fn posts_without_preview() -> _ {
    posts::table.filter(posts::image.is_not_null()).filter(posts::attachments.is_null())
}

/// Returns how many images of posts have no preview yet.
pub(crate) async fn count_without_preview(conn: &mut Conn<'_>) -> Outcome<i64> {
    Ok(posts_without_preview().count().get_result(conn).await?)
}

/// Returns the one of the newest post before one, and whose it is.
pub(crate) async fn without_preview(conn: &mut Conn<'_>, before: DbId) -> Outcome<Option<(DbId, String)>> {
    let newest = posts_without_preview().filter(posts::id.lt(before)).order(posts::id.desc());
    let newest = newest.select((posts::id, posts::image.assume_not_null()));
    Ok(newest.limit(1).get_result(conn).await.optional()?)
}

/// The users of whose picture it is not known what is shown where it is small: as the index of them has it.
const WITHOUT_SMALL_PICTURE: &str = "profile_picture IS NOT NULL AND \
    (small_picture IS NULL OR substr(small_picture, 1, length(profile_picture)) <> profile_picture)";

/// Returns how many these are.
pub(crate) async fn count_without_small_picture(conn: &mut Conn<'_>) -> Outcome<i64> {
    Ok(users::table.filter(sql::<Bool>(WITHOUT_SMALL_PICTURE)).count().get_result(conn).await?)
}

/// Returns the newest of them before one, and the picture.
pub(crate) async fn without_small_picture(conn: &mut Conn<'_>, before: DbId) -> Outcome<Option<(DbId, String)>> {
    let newest = users::table.filter(sql::<Bool>(WITHOUT_SMALL_PICTURE)).filter(users::id.lt(before));
    let newest = newest.order(users::id.desc()).select((users::id, users::profile_picture.assume_not_null()));
    Ok(newest.limit(1).get_result(conn).await.optional()?)
}

/// Stores what is shown where the picture of a user is small, as [`describe`] does.
pub(crate) async fn describe_picture(
    conn: &mut Conn<'_>,
    user: DbId,
    key: String,
    small: String,
    at: DbInstant,
) -> Outcome<()> {
    let having = diesel::update(users::table.find(user).filter(users::profile_picture.eq(key.clone())));
    let count = having.set(users::small_picture.eq(Some(small))).execute(conn).await?;
    give_up_unnamed(conn, count, key, at).await
}

/// Stores the text of the one image of a post that has none; where that has other images meanwhile, puts the image on record,
/// unless a row names it.
pub(crate) async fn describe(conn: &mut Conn<'_>, post: DbId, key: String, text: String, at: DbInstant) -> Outcome<()> {
    let having = posts::table.find(post).filter(posts::image.eq(key.clone()));
    let described = diesel::update(having.filter(posts::attachments.is_null()));
    let count = described.set(posts::attachments.eq(Some(text))).execute(conn).await?;
    give_up_unnamed(conn, count, key, at).await
}

/// Puts an image on record of which nothing was stored, unless a row names it.
async fn give_up_unnamed(conn: &mut Conn<'_>, stored: usize, key: String, at: DbInstant) -> Outcome<()> {
    if stored == 0 && named_of(conn, vec![key.clone()]).await?.is_empty() {
        give_up(conn, key, at).await?;
    }
    Ok(())
}

pub(crate) async fn forget(conn: &mut Conn<'_>, keys: Vec<String>) -> Outcome<()> {
    diesel::delete(unnamed_images::table.filter(word_in(unnamed_images::key, keys))).execute(conn).await?;
    Ok(())
}

/// Keeps the record in step with a row that named the images `old` and names `new` from now on.
pub(crate) async fn replace(conn: &mut Conn<'_>, old: &[&str], new: &[&str], at: DbInstant) -> Outcome<()> {
    // In the order of their names: whoever changes the same ones at the same time waits, and does not stand in the way.
    let mut named: Vec<&&str> = new.iter().filter(|new| !old.contains(new)).collect();
    named.sort_unstable();
    for new in named {
        let recorded = unnamed_images::table.find(*new).filter(unnamed_images::condemned.eq(false));
        if diesel::delete(recorded).execute(conn).await? == 0 {
            return Err(Failure::Rule(Error::unavailable(ImageCollected)));
        }
    }
    let mut given_up: Vec<&&str> = old.iter().filter(|old| !new.contains(old)).collect();
    given_up.sort_unstable();
    for old in given_up {
        give_up(conn, (*old).to_owned(), at).await?;
    }
    Ok(())
}

/// Puts an image on record that a row named, also where a trigger has put it there before. It is about to be deleted: whoever found it on
/// record before is not to name it any more.
async fn give_up(conn: &mut Conn<'_>, key: String, at: DbInstant) -> Outcome<()> {
    let given_up = (unnamed_images::since.eq(at), unnamed_images::condemned.eq(true));
    let record = diesel::insert_into(unnamed_images::table).values((unnamed_images::key.eq(key), given_up));
    record.on_conflict(unnamed_images::key).do_update().set(given_up).execute(conn).await?;
    Ok(())
}

/// Does so for a post that had the images `old` and has `new`, of which all but the first are rows of their own as well.
pub(crate) async fn replace_of_post(
    conn: &mut Conn<'_>,
    post: DbId,
    old: &[Attachment],
    new: &[Attachment],
    at: DbInstant,
) -> Outcome<()> {
    let (old, new) = (keys(old), keys(new));
    replace(conn, &old, &new, at).await?;
    let (old, new) = (old.get(1..).unwrap_or_default(), new.get(1..).unwrap_or_default());
    if old != new {
        diesel::delete(post_images::table.filter(post_images::post_id.eq(post))).execute(conn).await?;
        let record =
            |(position, key): (i32, &&str)| PostImageRecord { post_id: post, position, key: (*key).to_owned() };
        let records: Vec<PostImageRecord> = (1..).zip(new).map(record).collect();
        if !records.is_empty() {
            diesel::insert_into(post_images::table).values(&records).execute(conn).await?;
        }
    }
    Ok(())
}

fn keys(attachments: &[Attachment]) -> Vec<&str> {
    attachments.iter().map(|attachment| attachment.key.as_str()).collect()
}

/// Records an image that is about to be stored and that its owner may attach to a post.
pub(crate) async fn announce_upload(
    conn: &mut Conn<'_>,
    key: String,
    at: DbInstant,
    owner: DbId,
    upload: String,
) -> Outcome<()> {
    let record = (unnamed_images::key.eq(key), unnamed_images::since.eq(at), unnamed_images::condemned.eq(false));
    let uploaded = (unnamed_images::owner.eq(Some(owner)), unnamed_images::upload.eq(Some(upload)));
    let announced = diesel::insert_into(unnamed_images::table).values((record, uploaded));
    announced.on_conflict_do_nothing().execute(conn).await?;
    Ok(())
}

/// Returns the texts of those of an owner's uploads that are on record under these keys.
pub(crate) async fn find_uploads(conn: &mut Conn<'_>, owner: DbId, keys: Vec<String>) -> Outcome<Vec<String>> {
    let uploads = unnamed_images::table
        .filter(word_in(unnamed_images::key, keys))
        .filter(unnamed_images::owner.eq(owner))
        .filter(unnamed_images::condemned.eq(false));
    Ok(uploads.select(unnamed_images::upload.assume_not_null()).load(conn).await?)
}
