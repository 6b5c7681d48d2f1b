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
use crate::transfer::ReferringRow;

/// Records an image that is about to be stored.
pub(crate) async fn announce(conn: &mut Conn<'_>, key: String, at: DbInstant) -> Outcome<()> {
    let record = (unnamed_images::key.eq(key), unnamed_images::since.eq(at), unnamed_images::condemned.eq(false));
    diesel::insert_into(unnamed_images::table).values(record).on_conflict_do_nothing().execute(conn).await?;
    Ok(())
}

/// Marks some of the images for deletion that were recorded before `cutoff`, or that were marked before now, the oldest records
/// first.
pub(crate) async fn mark_for_deletion(
    conn: &mut Conn<'_>,
    cutoff: DbInstant,
    now: DbInstant,
    limit: i64,
) -> Outcome<Vec<String>> {
    let was_marked = unnamed_images::condemned.and(unnamed_images::since.lt(now));
    let is_old = unnamed_images::since.lt(cutoff).or(was_marked);
    let oldest = unnamed_images::table.order((unnamed_images::since, unnamed_images::key)).limit(limit);
    let keys: Vec<String> = oldest.filter(is_old).select(unnamed_images::key).load(conn).await?;
    if keys.is_empty() {
        return Ok(keys);
    }
    // If a row has come to refer to an image since it was read, its record is gone, and the image is not marked.
    let recorded = word_in(unnamed_images::key, keys).and(is_old);
    Ok(diesel::update(unnamed_images::table.filter(recorded))
        .set((unnamed_images::since.eq(now), unnamed_images::condemned.eq(true)))
        .returning(unnamed_images::key)
        .load(conn)
        .await?)
}

/// Returns the images that are recorded as unreferenced, of those given.
pub(crate) async fn recorded(conn: &mut Conn<'_>, keys: Vec<String>) -> Outcome<Vec<String>> {
    let recorded = unnamed_images::table.filter(word_in(unnamed_images::key, keys));
    Ok(recorded.select(unnamed_images::key).load(conn).await?)
}

/// Returns the images of a folder that rows refer to, each with its owner.
pub(crate) async fn referenced_in(conn: &mut Conn<'_>, folder: u8) -> Outcome<Vec<(String, DbId)>> {
    let from = format!("{folder:02x}");
    // After the last folder, `g`, which sorts after all hexadecimal digits.
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

/// Returns the images that rows refer to, of those given.
pub(crate) async fn referenced_of(conn: &mut Conn<'_>, keys: Vec<String>) -> Outcome<Vec<String>> {
    let first = posts::table
        .filter(word_in(posts::image.assume_not_null(), keys.clone()))
        .select(posts::image.assume_not_null());
    let others = post_images::table.filter(word_in(post_images::key, keys.clone())).select(post_images::key);
    let shown = users::table.filter(word_in(users::profile_picture.assume_not_null(), keys));
    let pictures = shown.select(users::profile_picture.assume_not_null());
    Ok(first.union_all(others).union_all(pictures).load(conn).await?)
}

/// Returns a batch of the images that rows of a kind refer to, in the order of their names, after a name.
pub(crate) async fn referenced_after(
    conn: &mut Conn<'_>,
    by: ReferringRow,
    after: String,
    limit: i64,
) -> Outcome<Vec<String>> {
    Ok(match by {
        ReferringRow::Post => {
            let named = posts::table.filter(posts::image.gt(after)).order(posts::image).limit(limit);
            named.select(posts::image.assume_not_null()).load(conn).await?
        }
        ReferringRow::FurtherOfPost => {
            let named = post_images::table.filter(post_images::key.gt(after)).order(post_images::key).limit(limit);
            named.select(post_images::key).load(conn).await?
        }
        ReferringRow::User => {
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

/// Returns the number of images of posts without a preview yet.
pub(crate) async fn count_without_preview(conn: &mut Conn<'_>) -> Outcome<i64> {
    Ok(posts_without_preview().count().get_result(conn).await?)
}

/// Returns the newest post with an id before `before` whose image has no preview yet, and the image.
pub(crate) async fn without_preview(conn: &mut Conn<'_>, before: DbId) -> Outcome<Option<(DbId, String)>> {
    let newest = posts_without_preview().filter(posts::id.lt(before)).order(posts::id.desc());
    let newest = newest.select((posts::id, posts::image.assume_not_null()));
    Ok(newest.limit(1).get_result(conn).await.optional()?)
}

/// The condition of users without a record of what to show as their small picture. The partial index has the same condition.
const WITHOUT_SMALL_PICTURE: &str = "profile_picture IS NOT NULL AND \
    (small_picture IS NULL OR substr(small_picture, 1, length(profile_picture)) <> profile_picture)";

/// Returns the number of users without a record of their small picture.
pub(crate) async fn count_without_small_picture(conn: &mut Conn<'_>) -> Outcome<i64> {
    Ok(users::table.filter(sql::<Bool>(WITHOUT_SMALL_PICTURE)).count().get_result(conn).await?)
}

/// Returns the newest user with an id before `before` without a record of the small picture, and the picture.
pub(crate) async fn without_small_picture(conn: &mut Conn<'_>, before: DbId) -> Outcome<Option<(DbId, String)>> {
    let newest = users::table.filter(sql::<Bool>(WITHOUT_SMALL_PICTURE)).filter(users::id.lt(before));
    let newest = newest.order(users::id.desc()).select((users::id, users::profile_picture.assume_not_null()));
    Ok(newest.limit(1).get_result(conn).await.optional()?)
}

/// Stores what to show as the small picture of a user, as [`describe`] does for a post.
pub(crate) async fn describe_picture(
    conn: &mut Conn<'_>,
    user: DbId,
    key: String,
    small: String,
    at: DbInstant,
) -> Outcome<()> {
    let having = diesel::update(users::table.find(user).filter(users::profile_picture.eq(key.clone())));
    let count = having.set(users::small_picture.eq(Some(small))).execute(conn).await?;
    record_if_unreferenced(conn, count, key, at).await
}

/// Stores the metadata of the only image of a post that has none yet. If the post has other images meanwhile, records the image
/// as unreferenced, unless a row refers to it.
pub(crate) async fn describe(conn: &mut Conn<'_>, post: DbId, key: String, text: String, at: DbInstant) -> Outcome<()> {
    let having = posts::table.find(post).filter(posts::image.eq(key.clone()));
    let described = diesel::update(having.filter(posts::attachments.is_null()));
    let count = described.set(posts::attachments.eq(Some(text))).execute(conn).await?;
    record_if_unreferenced(conn, count, key, at).await
}

/// Records an image as unreferenced if nothing was stored for it and no row refers to it.
async fn record_if_unreferenced(conn: &mut Conn<'_>, stored: usize, key: String, at: DbInstant) -> Outcome<()> {
    if stored == 0 && referenced_of(conn, vec![key.clone()]).await?.is_empty() {
        record_unreferenced(conn, key, at).await?;
    }
    Ok(())
}

pub(crate) async fn forget(conn: &mut Conn<'_>, keys: Vec<String>) -> Outcome<()> {
    diesel::delete(unnamed_images::table.filter(word_in(unnamed_images::key, keys))).execute(conn).await?;
    Ok(())
}

/// Updates the record of unreferenced images for a row that referred to the images `old` and now refers to `new`.
pub(crate) async fn replace(conn: &mut Conn<'_>, old: &[&str], new: &[&str], at: DbInstant) -> Outcome<()> {
    // In the order of their names, so that concurrent changes of the same images wait for each other instead of deadlocking.
    let mut named: Vec<&&str> = new.iter().filter(|new| !old.contains(new)).collect();
    named.sort_unstable();
    for new in named {
        let recorded = unnamed_images::table.find(*new).filter(unnamed_images::condemned.eq(false));
        if diesel::delete(recorded).execute(conn).await? == 0 {
            return Err(Failure::Rule(Error::unavailable(ImageCollected)));
        }
    }
    let mut unreferenced: Vec<&&str> = old.iter().filter(|old| !new.contains(old)).collect();
    unreferenced.sort_unstable();
    for old in unreferenced {
        record_unreferenced(conn, (*old).to_owned(), at).await?;
    }
    Ok(())
}

/// Records an image that a row no longer refers to as marked for deletion, even if a trigger has recorded it before. From now on,
/// no row may refer to it again.
async fn record_unreferenced(conn: &mut Conn<'_>, key: String, at: DbInstant) -> Outcome<()> {
    let unreferenced = (unnamed_images::since.eq(at), unnamed_images::condemned.eq(true));
    let record = diesel::insert_into(unnamed_images::table).values((unnamed_images::key.eq(key), unreferenced));
    record.on_conflict(unnamed_images::key).do_update().set(unreferenced).execute(conn).await?;
    Ok(())
}

/// Updates the record as [`replace`] does for a post that had the images `old` and now has `new`, and stores the rows of all
/// images but the first.
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

/// Returns the metadata of an owner's uploads that are recorded under these keys and not marked for deletion.
pub(crate) async fn find_uploads(conn: &mut Conn<'_>, owner: DbId, keys: Vec<String>) -> Outcome<Vec<String>> {
    let uploads = unnamed_images::table
        .filter(word_in(unnamed_images::key, keys))
        .filter(unnamed_images::owner.eq(owner))
        .filter(unnamed_images::condemned.eq(false));
    Ok(uploads.select(unnamed_images::upload.assume_not_null()).load(conn).await?)
}
