//! Reading and writing of whole tables, in the order of their primary keys.

use agora_domain::Error;
use diesel::dsl::{exists, sql};
use diesel::result::{DatabaseErrorKind, Error as DieselError};
use diesel::sql_types::Text;
use diesel::{BoolExpressionMethods, ExpressionMethods, QueryDsl, SelectableHelper};

use super::{Conn, RunQueryDsl};
pub(crate) use super::{count_all, count_later, has_migrations};
use crate::error::{Failure, Outcome};
use crate::rows::count as unsigned;
use crate::schema::{
    ActorRecord, AnyKey, AnyRows, AuditRecord, BlockRecord, BookmarkRecord, CommentLikeRecord, CommentRecord,
    ErasureRecord, FollowRecord, ImageRow, KeptNameRecord, LikeRecord, MuteRecord, NotificationRecord, Position,
    PostImageRecord, PostRecord, ProductRow, ReportRecord, Rows, SessionRecord, SettingRecord, Table, UserRecord,
    VariantRow, audit, blocks, bookmarks, comment_likes, comments, erasures, follows, for_table, idempotency,
    kept_names, likes, mail_tokens, mails, mutes, notification_actors, notification_settings, notification_withdrawals,
    notifications, post_images, posts, product_images, product_variants, products, reports, sessions, unnamed_images,
    user_counts, users,
};
use crate::version::Backlog;

/// Returns the amount of background work that is left.
pub(crate) async fn backlog(conn: &mut Conn<'_>) -> Outcome<Backlog> {
    let entities = unsigned(super::texts::count_unresolved(conn).await?);
    let search = unsigned(super::indexing::count_unindexed(conn).await?);
    let of_posts = unsigned(super::images::count_without_preview(conn).await?);
    let of_users = unsigned(super::images::count_without_small_picture(conn).await?);
    Ok(Backlog { entities, search, previews: of_posts.saturating_add(of_users) })
}

/// Returns the versions of the applied migrations, in order; none if the database has no schema of this program.
pub(crate) async fn applied(conn: &mut Conn<'_>) -> Outcome<Vec<String>> {
    if !has_migrations(conn).await? {
        return Ok(Vec::new());
    }
    // The table of diesel_migrations, which has no function that reads it without creating it.
    let versions = sql::<Text>("SELECT version FROM __diesel_schema_migrations ORDER BY version");
    Ok(versions.load(conn).await?)
}

/// The rows of a table to move. PostgreSQL may have notifications whose recipient no longer exists, which SQLite would reject.
macro_rules! rows_of {
    (Notifications, $table:ident) => {
        $table::table.filter(exists(users::table.find($table::recipient_id)))
    };
    ($variant:ident, $table:ident) => {
        $table::table
    };
}

/// Returns the number of rows of the table.
pub(crate) async fn count(conn: &mut Conn<'_>, table: Table) -> Outcome<i64> {
    macro_rules! count {
        ($variant:ident, $table:ident, $row:ident, $($key:ident),+) => {
            rows_of!($variant, $table).count().get_result(conn).await?
        };
    }
    Ok(for_table!(table, count))
}

/// Returns the rows after the one with the given key.
pub(crate) async fn page(conn: &mut Conn<'_>, table: Table, after: Option<Position>, limit: i64) -> Outcome<Rows> {
    macro_rules! page {
        ($variant:ident, $table:ident, $row:ident, $first:ident $(, $second:ident)?) => {{
            let order = ($table::$first, $($table::$second)?);
            let page = rows_of!($variant, $table).select($row::as_select());
            let mut page = page.order(order).limit(limit).into_boxed();
            match after {
                None => {}
                Some(Position(AnyKey::$variant($first $(, $second)?))) => {
                    let is_other = $table::$first.ne($first)$(.or($table::$second.gt($second)))?;
                    page = page.filter($table::$first.ge($first).and(is_other));
                }
                Some(_) => return Err(Failure::Rule(Error::internal("the key belongs to another table"))),
            }
            Rows(AnyRows::$variant(page.load(conn).await?))
        }};
    }
    Ok(for_table!(table, page))
}

/// Converts the error of an insert. A row that violates a constraint between rows of the same source is a defect of the source,
/// unlike a row that exists already.
fn insert_error(error: DieselError) -> Failure {
    match error {
        DieselError::DatabaseError(
            DatabaseErrorKind::ForeignKeyViolation
            | DatabaseErrorKind::CheckViolation
            | DatabaseErrorKind::NotNullViolation,
            info,
        ) => Failure::Rule(Error::internal(info.message())),
        error => Failure::Database(error),
    }
}

/// Adds the rows.
pub(crate) async fn insert(conn: &mut Conn<'_>, rows: Rows) -> Outcome<usize> {
    macro_rules! insert {
        ($variant:ident, $table:ident, $row:ident, $($key:ident),+) => {
            match rows.0 {
                AnyRows::$variant(rows) => {
                    diesel::insert_into($table::table).values(&rows).execute(conn).await.map_err(insert_error)?
                }
                _ => 0,
            }
        };
    }
    Ok(for_table!(rows.table(), insert))
}

/// Deletes every row of every table.
pub(crate) async fn clear(conn: &mut Conn<'_>) -> Outcome<()> {
    // First, so that triggers do not update counts or the search index row by row.
    diesel::delete(user_counts::table).execute(conn).await?;
    super::packing::clear(conn).await?;
    diesel::delete(notification_withdrawals::table).execute(conn).await?;
    diesel::delete(mail_tokens::table).execute(conn).await?;
    diesel::delete(mails::table).execute(conn).await?;
    macro_rules! clear {
        ($variant:ident, $table:ident, $row:ident, $($key:ident),+) => {
            diesel::delete($table::table).execute(conn).await?
        };
    }
    for table in Table::ALL.into_iter().rev() {
        for_table!(table, clear);
    }
    // The new rows may refer to images that were unreferenced, which the sweep must not delete.
    diesel::delete(unnamed_images::table).execute(conn).await?;
    // A retry must not get an outcome that refers to rows that no longer exist.
    diesel::delete(idempotency::table).execute(conn).await?;
    Ok(())
}
