//! What the shared queries use on PostgreSQL: the type of a connection, the methods that run a statement, and row locks.

use diesel::dsl::sql;
use diesel::sql_types::{BigInt, Bool, Nullable, Text};
use diesel::{BoolExpressionMethods, Expression, ExpressionMethods, OptionalExtension, QueryDsl, SelectableHelper};
pub(crate) use diesel_async::RunQueryDsl;
use futures_util::future::BoxFuture;

pub(crate) use super::built::built;
use crate::error::Outcome;
use crate::rows::{PostRow, UserRow};
use crate::schema::{comments, leases, posts, products, reports, search_tail, user_counts, users};
use crate::search_index::BucketRow;
use crate::sql_types::{DbId, DbInstant, Id};

/// The connection that the query functions run on: shared with others, or lent by the pool.
pub(crate) type Conn<'c> = &'c diesel_async::AsyncPgConnection;

/// Work on a connection, which may be run more than once.
pub(crate) trait Work<T>:
    for<'a, 'c> Fn(&'a mut Conn<'c>) -> BoxFuture<'a, Outcome<T>> + Send + Sync + 'static
{
}

impl<T, F> Work<T> for F where F: for<'a, 'c> Fn(&'a mut Conn<'c>) -> BoxFuture<'a, Outcome<T>> + Send + Sync + 'static {}

// The order of locks. A row that others may change at the same time is locked before a decision depends on it, and before the
// rows that belong to it: accounts in the order of their ids, each before its follows, blocks, mutes and sessions; a post before
// its likes and comments; a comment before its likes; the record of an image before a new post that references it, and after a
// post that already exists; a product before its parts; mail tokens before mails; a user's counters in the order of their
// numbers. Deletions cascade in this order too, so that two transactions hardly ever deadlock. A row that a transaction changes
// for the second time locks the rows that it refers to, although no statement says so.

/// The key of the advisory lock under which one transaction at a time changes which accounts have ADMIN.
const ADMINS_LOCK: i64 = 0x61_64_6d_69_6e_73;

/// The condition that the database is of the distributed flavor: its posts have no transaction ids.
pub(super) const IS_DISTRIBUTED: &str = "NOT EXISTS (SELECT FROM pg_attribute \
    WHERE attrelid = to_regclass('posts') AND attname = 'transaction' AND NOT attisdropped)";

/// Locks the accounts with ADMIN, and one that may get or lose it, against changes by others, in the order in which blocks lock
/// two accounts.
///
/// Two such changes at once could still deadlock, since an account that becomes an admin in the meantime comes in between. They
/// are therefore serialized, by a row in `leases`, and by the advisory lock that nodes of the previous release use.
pub(crate) async fn lock_admins(conn: &mut Conn<'_>, id: DbId) -> Outcome<()> {
    // As raw SQL, since a distributed engine lacks the function and must not be made to call it.
    let advisory = format!("SELECT CASE WHEN NOT ({IS_DISTRIBUTED}) THEN pg_advisory_xact_lock($1)::text END");
    diesel::sql_query(advisory).bind::<BigInt, _>(ADMINS_LOCK).execute(conn).await?;
    leases::table.find("admins").select(leases::name).for_update().execute(conn).await?;
    let these = users::table.filter(users::is_admin.or(users::id.eq(id))).order(users::id);
    these.select(users::id).for_no_key_update().load::<DbId>(conn).await?;
    Ok(())
}

/// Returns the account, locked against changes by others, and whether it is deleted.
pub(crate) async fn lock_user(conn: &mut Conn<'_>, id: DbId) -> Outcome<Option<(UserRow, bool)>> {
    // The selected values are those of the row once it is locked, even if another transaction held the lock until then.
    let row = users::table.find(id).select((UserRow::as_select(), users::is_deleted)).for_no_key_update();
    Ok(row.get_result(conn).await.optional()?)
}

/// Locks the account, if it is there, against changes by others and against new rows that refer to it.
pub(crate) async fn lock_whole_user(conn: &mut Conn<'_>, id: DbId) -> Outcome<()> {
    users::table.find(id).select(users::id).for_update().get_result::<DbId>(conn).await.optional()?;
    Ok(())
}

/// Returns the post that is not deleted, locked against changes by others.
pub(crate) async fn lock_post(conn: &mut Conn<'_>, id: DbId) -> Outcome<Option<PostRow>> {
    let row =
        posts::table.find(id).filter(posts::deleted_at.is_null()).select(PostRow::as_select()).for_no_key_update();
    Ok(row.get_result(conn).await.optional()?)
}

/// Locks the post's counters against changes by others.
pub(crate) async fn lock_counters(conn: &mut Conn<'_>, post: DbId) -> Outcome<()> {
    posts::table.find(post).select(posts::id).for_no_key_update().get_result::<DbId>(conn).await.optional()?;
    Ok(())
}

/// Locks the counters of posts against changes by others, always in the same order.
pub(crate) async fn lock_all_counters(conn: &mut Conn<'_>, posts: Vec<DbId>) -> Outcome<()> {
    let rows = posts::table.filter(id_in(posts::id, posts)).order(posts::id).select(posts::id).for_no_key_update();
    rows.load::<DbId>(conn).await?;
    Ok(())
}

/// Locks the counters of comments against changes by others, always in the same order.
pub(crate) async fn lock_comments(conn: &mut Conn<'_>, ids: Vec<DbId>) -> Outcome<()> {
    let rows = comments::table.filter(id_in(comments::id, ids)).order(comments::id).select(comments::id);
    rows.for_no_key_update().load::<DbId>(conn).await?;
    Ok(())
}

/// Locks the counters of the post that the comment belongs to against changes by others.
pub(crate) async fn lock_counters_of(conn: &mut Conn<'_>, comment: DbId) -> Outcome<()> {
    let post = comments::table.find(comment).select(comments::post_id);
    let row = posts::table.filter(posts::id.eq_any(post)).select(posts::id).for_no_key_update();
    row.get_result::<DbId>(conn).await.optional()?;
    Ok(())
}

/// Locks the counters of the comment against changes by others.
pub(crate) async fn lock_comment(conn: &mut Conn<'_>, id: DbId) -> Outcome<()> {
    comments::table.find(id).select(comments::id).for_no_key_update().get_result::<DbId>(conn).await.optional()?;
    Ok(())
}

/// Locks the product against changes by others.
pub(crate) async fn lock_product(conn: &mut Conn<'_>, id: DbId) -> Outcome<()> {
    products::table.find(id).select(products::id).for_no_key_update().get_result::<DbId>(conn).await.optional()?;
    Ok(())
}

/// Locks the report against changes by others.
pub(crate) async fn lock_report(conn: &mut Conn<'_>, id: DbId) -> Outcome<()> {
    reports::table.find(id).select(reports::id).for_no_key_update().get_result::<DbId>(conn).await.optional()?;
    Ok(())
}

/// Returns whether `posts.id` is one of these.
pub(crate) fn post_in(ids: Vec<DbId>) -> diesel::dsl::EqAny<posts::id, Vec<DbId>> {
    id_in(posts::id, ids)
}

/// Returns whether a column is one of these.
pub(crate) fn id_in<C: ExpressionMethods + Expression<SqlType = Id>>(
    column: C,
    ids: Vec<DbId>,
) -> diesel::dsl::EqAny<C, Vec<DbId>> {
    column.eq_any(ids)
}

/// Returns whether a column is one of these.
pub(crate) fn number_in<C>(column: C, numbers: Vec<i64>) -> diesel::dsl::EqAny<C, Vec<i64>>
where
    C: ExpressionMethods,
    C::SqlType: diesel::sql_types::SqlType,
    Vec<i64>: diesel::expression::array_comparison::AsInExpression<C::SqlType>,
{
    column.eq_any(numbers)
}

/// Returns whether a column is one of these.
pub(crate) fn word_in<C: ExpressionMethods + Expression<SqlType = Text>>(
    column: C,
    words: Vec<String>,
) -> diesel::dsl::EqAny<C, Vec<String>> {
    column.eq_any(words)
}

/// The key of the advisory lock under which one transaction at a time packs texts into buckets of the search index.
const PACKING_LOCK: i64 = ADMINS_LOCK + 1;

/// Takes the lock for work on the buckets of the search index, unless somebody else has it. Returns whether it was taken.
pub(crate) async fn try_lock_buckets(conn: &mut Conn<'_>) -> Outcome<bool> {
    let advisory = format!("SELECT {IS_DISTRIBUTED} OR pg_try_advisory_xact_lock({PACKING_LOCK})");
    if !sql::<Bool>(&advisory).get_result::<bool>(conn).await? {
        return Ok(false);
    }
    let row = leases::table.find("packing").select(leases::name).for_update().skip_locked();
    Ok(row.execute(conn).await? > 0)
}

/// Returns at most `most` of the oldest texts of a kind that are in no bucket, locked against changes by others. A text that
/// somebody else has locked, to delete it, is skipped.
pub(crate) async fn lock_oldest_unpacked(
    conn: &mut Conn<'_>,
    kind: i16,
    most: i64,
) -> Outcome<Vec<(DbInstant, DbId, String)>> {
    let tail = search_tail::table.filter(search_tail::kind.eq(kind));
    let oldest = tail.order((search_tail::created_at, search_tail::id)).limit(most);
    let columns = (search_tail::created_at, search_tail::id, search_tail::words);
    Ok(oldest.select(columns).for_update().skip_locked().load(conn).await?)
}

/// Returns the condition that a text in no bucket, not newer than the newest of a bucket, is to be moved there: only the
/// locked ones are, since others may have been added in the meantime.
pub(crate) fn is_packed(_: &BucketRow, locked: &[DbId]) -> diesel::dsl::EqAny<search_tail::id, Vec<DbId>> {
    id_in(search_tail::id, locked.to_vec())
}

/// Leaves what the transaction does uncounted in `user_counts` until [`count_all`]: a row that is updated many times in one
/// transaction is found ever more slowly.
pub(crate) async fn count_later(conn: &mut Conn<'_>) -> Outcome<()> {
    diesel::sql_query("SET LOCAL agora.count_later = 'on'").execute(conn).await?;
    Ok(())
}

/// Recounts the posts and follows of every user.
pub(crate) async fn count_all(conn: &mut Conn<'_>) -> Outcome<()> {
    diesel::delete(user_counts::table).execute(conn).await?;
    // Raw SQL, since it runs once: the same as in the migration that created the table.
    let count = "INSERT INTO user_counts (user_id, counter, value) \
            SELECT author_id, visibility, count(*) FROM posts WHERE deleted_at IS NULL GROUP BY author_id, visibility \
        UNION ALL SELECT follower_id, 3, count(*) FROM follows GROUP BY follower_id \
        UNION ALL SELECT followed_id, 16 + (get_byte(uuid_send(follower_id), 15) & 15), count(*) FROM follows \
            GROUP BY 1, 2";
    diesel::sql_query(count).execute(conn).await?;
    Ok(())
}

/// Returns whether migrations were ever applied.
pub(crate) async fn has_migrations(conn: &mut Conn<'_>) -> Outcome<bool> {
    Ok(sql::<Bool>("SELECT to_regclass('__diesel_schema_migrations') IS NOT NULL").get_result(conn).await?)
}

/// Returns how many bytes the database takes on its server; `None` for a distributed engine.
pub(crate) async fn database_bytes(conn: &mut Conn<'_>) -> Outcome<Option<i64>> {
    let bytes = format!("SELECT CASE WHEN NOT ({IS_DISTRIBUTED}) THEN pg_database_size(current_database()) END");
    Ok(sql::<Nullable<BigInt>>(&bytes).get_result(conn).await?)
}
