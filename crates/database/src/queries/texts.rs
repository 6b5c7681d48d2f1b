//! What the texts of posts and comments name.

use std::collections::HashMap;

use agora_domain::texts::{ResolvedText, TextKind, UnresolvedText};
use diesel::dsl::auto_type;
use diesel::{ExpressionMethods, OptionalExtension, QueryDsl, SelectableHelper};
use uuid::Uuid;

use super::{Conn, RunQueryDsl, id_in};
use crate::error::Outcome;
use crate::rows::PostRow;
use crate::schema::{comments, post_tags, posts};
use crate::sql_types::DbId;

/// Stores the hashtags of a post.
pub(crate) async fn insert_tags(conn: &mut Conn<'_>, row: &PostRow) -> Outcome<()> {
    let tags = row.tag_rows();
    if !tags.is_empty() {
        diesel::insert_into(post_tags::table).values(&tags).execute(conn).await?;
    }
    Ok(())
}

/// Stores what the text of a post names, with its hashtags, where the post still has this text and that is not known: whatever changes
/// a text has forgotten it.
pub(crate) async fn resolve(conn: &mut Conn<'_>, id: DbId, content: String, entities: String) -> Outcome<()> {
    let unresolved = posts::table
        .find(id)
        .filter(posts::content.eq(content))
        .filter(posts::entities.is_null())
        .filter(posts::deleted_at.is_null());
    let resolved = diesel::update(unresolved)
        .set(posts::entities.eq(Some(entities)))
        .returning(PostRow::as_returning())
        .get_result(conn)
        .await
        .optional()?;
    match resolved {
        Some(row) => insert_tags(conn, &row).await,
        None => Ok(()),
    }
}

/// Does the same with the text of a comment.
async fn resolve_comment(conn: &mut Conn<'_>, id: DbId, content: String, entities: String) -> Outcome<()> {
    let unresolved =
        comments::table.find(id).filter(comments::content.eq(content)).filter(comments::entities.is_null());
    diesel::update(unresolved).set(comments::entities.eq(Some(entities))).execute(conn).await?;
    Ok(())
}

/// Stores that the texts of some rows name nothing, where they still have the text: most do not, and take one statement
/// together.
macro_rules! resolve_nameless {
    ($table:ident, $unresolved:expr, $texts:expr, $conn:expr) => {{
        let texts: &HashMap<Uuid, String> = $texts;
        let ids = texts.keys().copied().map(DbId).collect();
        let resolved: Vec<(DbId, String)> = diesel::update($unresolved.filter(id_in($table::id, ids)))
            .set($table::entities.eq(Some("")))
            .returning(($table::id, $table::content))
            .load($conn)
            .await?;
        let is_changed = |(id, content): &(DbId, String)| texts.get(&id.0) != Some(content);
        let changed: Vec<DbId> = resolved.into_iter().filter(is_changed).map(|(id, _)| id).collect();
        if !changed.is_empty() {
            let changed = $table::table.filter(id_in($table::id, changed));
            diesel::update(changed).set($table::entities.eq(None::<String>)).execute($conn).await?;
        }
    }};
}

/// Does the same with several texts.
pub(crate) async fn resolve_all(conn: &mut Conn<'_>, kind: TextKind, texts: Vec<ResolvedText>) -> Outcome<()> {
    let (nameless, named): (Vec<_>, _) = texts.into_iter().partition(|text| text.entities.as_str().is_empty());
    for ResolvedText { id, text, entities } in named {
        let entities = entities.as_str().to_owned();
        match kind {
            TextKind::Post => resolve(conn, DbId(id), text, entities).await?,
            TextKind::Comment => resolve_comment(conn, DbId(id), text, entities).await?,
        }
    }
    let nameless: HashMap<_, _> = nameless.into_iter().map(|text| (text.id, text.text)).collect();
    if nameless.is_empty() {
        return Ok(());
    }
    match kind {
        TextKind::Post => resolve_nameless!(posts, unresolved_posts(), &nameless, conn),
        TextKind::Comment => resolve_nameless!(comments, unresolved_comments(), &nameless, conn),
    }
    Ok(())
}

#[auto_type]
fn unresolved_posts() -> _ {
    posts::table.filter(posts::entities.is_null()).filter(posts::deleted_at.is_null())
}

#[auto_type]
fn unresolved_comments() -> _ {
    comments::table.filter(comments::entities.is_null())
}

/// Returns how many texts there are of which it is not known what they name.
pub(crate) async fn count_unresolved(conn: &mut Conn<'_>) -> Outcome<i64> {
    let posts: i64 = unresolved_posts().count().get_result(conn).await?;
    let comments: i64 = unresolved_comments().count().get_result(conn).await?;
    Ok(posts + comments)
}

/// Returns the newest of a kind before one.
pub(crate) async fn list_unresolved(
    conn: &mut Conn<'_>,
    kind: TextKind,
    before: DbId,
    limit: i64,
) -> Outcome<Vec<UnresolvedText>> {
    macro_rules! list {
        ($table:ident, $unresolved:expr) => {{
            let older = $unresolved.filter($table::id.lt(before)).order($table::id.desc()).limit(limit);
            older.select(($table::id, $table::author_id, $table::content)).load(conn).await?
        }};
    }
    let rows: Vec<(DbId, DbId, String)> = match kind {
        TextKind::Post => list!(posts, unresolved_posts()),
        TextKind::Comment => list!(comments, unresolved_comments()),
    };
    let unresolved = |(DbId(id), author, text): (_, DbId, _)| UnresolvedText { id, author: author.0.into(), text };
    Ok(rows.into_iter().map(unresolved).collect())
}
