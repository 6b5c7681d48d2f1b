//! The entities of the texts of posts and comments.

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

/// Stores the entities and hashtags of a post's text, if the post still has this text and they are not stored yet. A change of a
/// text resets them.
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

/// Stores the entities of a comment's text, under the same conditions as [`resolve`].
async fn resolve_comment(conn: &mut Conn<'_>, id: DbId, content: String, entities: String) -> Outcome<()> {
    let unresolved =
        comments::table.find(id).filter(comments::content.eq(content)).filter(comments::entities.is_null());
    diesel::update(unresolved).set(comments::entities.eq(Some(entities))).execute(conn).await?;
    Ok(())
}

/// Stores that the texts of some rows have no entities, if the rows still have these texts. Most texts have none, and share one
/// statement.
macro_rules! resolve_without_entities {
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

/// Stores the entities of several texts, as [`resolve`] does.
pub(crate) async fn resolve_all(conn: &mut Conn<'_>, kind: TextKind, texts: Vec<ResolvedText>) -> Outcome<()> {
    let (without_entities, with_entities): (Vec<_>, _) =
        texts.into_iter().partition(|text| text.entities.as_str().is_empty());
    for ResolvedText { id, text, entities } in with_entities {
        let entities = entities.as_str().to_owned();
        match kind {
            TextKind::Post => resolve(conn, DbId(id), text, entities).await?,
            TextKind::Comment => resolve_comment(conn, DbId(id), text, entities).await?,
        }
    }
    let without_entities: HashMap<_, _> = without_entities.into_iter().map(|text| (text.id, text.text)).collect();
    if without_entities.is_empty() {
        return Ok(());
    }
    match kind {
        TextKind::Post => resolve_without_entities!(posts, unresolved_posts(), &without_entities, conn),
        TextKind::Comment => resolve_without_entities!(comments, unresolved_comments(), &without_entities, conn),
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

/// Returns the number of texts whose entities are not stored yet.
pub(crate) async fn count_unresolved(conn: &mut Conn<'_>) -> Outcome<i64> {
    let posts: i64 = unresolved_posts().count().get_result(conn).await?;
    let comments: i64 = unresolved_comments().count().get_result(conn).await?;
    Ok(posts + comments)
}

/// Returns the newest texts of a kind without stored entities, with ids before `before`.
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
