//! What the texts of posts name.

use std::collections::HashMap;

use agora_domain::posts::{ResolvedText, UnresolvedText};
use diesel::{ExpressionMethods, OptionalExtension, QueryDsl, SelectableHelper};
use uuid::Uuid;

use super::{Conn, RunQueryDsl, id_in};
use crate::error::Outcome;
use crate::rows::PostRow;
use crate::schema::{post_tags, posts};
use crate::sql_types::DbId;

/// Stores the hashtags of a post.
pub(crate) async fn insert_tags(conn: &mut Conn<'_>, row: &PostRow) -> Outcome<()> {
    let tags = row.tag_rows();
    if !tags.is_empty() {
        diesel::insert_into(post_tags::table).values(&tags).execute(conn).await?;
    }
    Ok(())
}

/// Stores what a text names, with its hashtags, where the post still has this text and that is not known: whatever changes
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

/// Does the same with several texts. Those that name nothing, as most do, take one statement together.
pub(crate) async fn resolve_all(conn: &mut Conn<'_>, texts: Vec<ResolvedText>) -> Outcome<()> {
    let (nameless, named): (Vec<_>, _) = texts.into_iter().partition(|text| text.entities.as_str().is_empty());
    for ResolvedText { post, text, entities } in named {
        resolve(conn, DbId(post.uuid()), text.as_str().to_owned(), entities.as_str().to_owned()).await?;
    }
    let nameless: HashMap<Uuid, _> = nameless.into_iter().map(|text| (text.post.uuid(), text.text)).collect();
    if nameless.is_empty() {
        return Ok(());
    }
    let unresolved = posts::table
        .filter(id_in(posts::id, nameless.keys().copied().map(DbId).collect()))
        .filter(posts::entities.is_null())
        .filter(posts::deleted_at.is_null());
    let resolved: Vec<(DbId, String)> = diesel::update(unresolved)
        .set(posts::entities.eq(Some("")))
        .returning((posts::id, posts::content))
        .load(conn)
        .await?;
    let is_changed = |(id, content): &(DbId, String)| nameless.get(&id.0).is_none_or(|text| text.as_str() != content);
    let changed: Vec<DbId> = resolved.into_iter().filter(is_changed).map(|(id, _)| id).collect();
    if !changed.is_empty() {
        let changed = posts::table.filter(id_in(posts::id, changed));
        diesel::update(changed).set(posts::entities.eq(None::<String>)).execute(conn).await?;
    }
    Ok(())
}

/// Returns how many posts there are of which it is not known what their texts name.
pub(crate) async fn count_unresolved(conn: &mut Conn<'_>) -> Outcome<i64> {
    let unresolved = posts::table.filter(posts::entities.is_null()).filter(posts::deleted_at.is_null());
    Ok(unresolved.count().get_result(conn).await?)
}

/// Returns the newest of them, or the newest of those before one.
pub(crate) async fn list_unresolved(
    conn: &mut Conn<'_>,
    before: Option<DbId>,
    limit: i64,
) -> Outcome<Vec<UnresolvedText>> {
    let unresolved = posts::table
        .filter(posts::entities.is_null())
        .filter(posts::deleted_at.is_null())
        .filter(posts::id.lt(before.unwrap_or(DbId(Uuid::max()))))
        .order(posts::id.desc())
        .limit(limit)
        .select(PostRow::as_select());
    let rows: Vec<PostRow> = unresolved.load(conn).await?;
    let text = |row: PostRow| row.post().map(|post| UnresolvedText { post: post.id, text: post.text });
    rows.into_iter().map(text).collect()
}
