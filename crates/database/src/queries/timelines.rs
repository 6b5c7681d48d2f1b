//! Lists of posts by any author, some of which are hidden from the viewer. They are read in parts, so that the number of hidden
//! posts that one statement reads is bounded.

use agora_domain::posts::{PostView, Visibility};
use diesel::dsl::not;
use diesel::{
    BoolExpressionMethods, ExpressionMethods, NullableExpressionMethods, QueryDsl, QueryResult, SelectableHelper,
};

use super::views::{author_followed_by, bookmarked_by, liked_by, load_in_order, view, visible_to};
use super::{Conn, RunQueryDsl, built, in_timeline, likers, load, post_in, with_likers};
use crate::account_filters::{DbViewer, is_enabled_account_blocked, or_muted};
use crate::error::Outcome;
use crate::feeds::limit;
use crate::rows::{After, AuthorRow, PostRow, Slice, visibility_code};
use crate::schema::{follows, post_tags, posts, users};
use crate::sql_types::{DbId, DbInstant};
use crate::values::{Visible, VisiblePosts};

/// The posts shown by a part of a list, and where the next part begins if there is one.
pub(crate) type Part = (Vec<PostView>, Option<After>);

/// The position of an entry, which is that of its post, and whether the post is shown.
type Entry = (DbInstant, DbId, Option<bool>);

/// Returns at most `most` of the entries that are shown, and where the next part begins. `read` returns the position of an entry,
/// and whether it is shown.
pub(super) fn shown<E>(
    entries: Vec<E>,
    read: impl Fn(&E) -> (After, bool),
    slice: Slice,
    most: usize,
) -> (Vec<E>, Option<After>) {
    let is_last = limit(entries.len()) < slice.limit;
    let (mut found, mut last) = (Vec::new(), None);
    for entry in entries {
        if found.len() == most {
            return (found, last);
        }
        let (after, is_shown) = read(&entry);
        last = Some(after);
        if is_shown {
            found.push(entry);
        }
    }
    (found, last.filter(|_| !is_last))
}

/// Returns at most `most` of the rows that are shown, and where the next part begins. Each row is given with whether it is shown.
pub(super) fn shown_rows<R>(
    rows: Vec<(bool, R)>,
    after: impl Fn(&R) -> After,
    slice: Slice,
    most: usize,
) -> (Vec<R>, Option<After>) {
    let (found, rest) = shown(rows, |(is_shown, row)| (after(row), *is_shown), slice, most);
    (found.into_iter().map(|(_, row)| row).collect(), rest)
}

/// Returns at most `most` posts of the entries that are shown, and where the next part begins.
fn shown_posts(entries: Vec<Entry>, slice: Slice, most: usize) -> (Vec<DbId>, Option<After>) {
    let read = |&(at, id, is_shown): &Entry| (After(at, id), is_shown == Some(true));
    let (found, rest) = shown(entries, read, slice, most);
    (found.into_iter().map(|(_, id, _)| id).collect(), rest)
}

/// Loads the posts with these ids that satisfy a condition.
macro_rules! views {
    ($ids:expr, $viewer:expr, $may_be_shown:expr, $toward:expr, $conn:expr) => {{
        let views = posts::table
            .inner_join(users::table)
            .filter(post_in($ids))
            .filter(posts::deleted_at.is_null())
            .filter(users::enabled)
            .filter(not(users::is_deleted))
            .filter($may_be_shown)
            .select(view!(AuthorRow, $viewer));
        let rows = load_in_order!(views, $toward, $conn);
        with_likers($conn, rows, $viewer, AuthorRow::author).await?
    }};
}

/// Returns at most `most` of the PUBLIC posts of enabled authors in a slice, and where the next part begins.
pub(crate) async fn list_public(conn: &mut Conn<'_>, viewer: DbViewer, slice: Slice, most: usize) -> Outcome<Part> {
    // A scalar subquery for each post: the server would otherwise join all posts with their authors.
    let is_shown = users::table.filter(users::id.eq(posts::author_id)).select(users::enabled).single_value();
    let is_shown = is_shown.and(not(or_muted(viewer, is_enabled_account_blocked(viewer, posts::author_id))).nullable());
    let public = posts::visibility.eq(visibility_code(Visibility::Public));
    let entries = posts::table.filter(public).filter(in_timeline());
    let entries: QueryResult<Vec<Entry>> =
        load!(entries.select((posts::created_at, posts::id, is_shown)), posts, slice, conn);
    let (ids, rest) = shown_posts(entries?, slice, most);
    let may_be_shown = public.and(not(or_muted(viewer, is_enabled_account_blocked(viewer, posts::author_id))));
    Ok((views!(ids, viewer, may_be_shown, slice.toward, conn), rest))
}

/// Returns at most `most` of the visible posts with a hashtag by enabled authors in a slice, and where the next part begins. The
/// index contains everything that decides, except whom the viewer follows, blocks and mutes, and who is enabled.
pub(crate) async fn list_by_tag(
    conn: &mut Conn<'_>,
    tag: String,
    VisiblePosts { viewer, followed, others }: VisiblePosts,
    slice: Slice,
    most: usize,
) -> Outcome<Part> {
    let is = |visibility: i16| post_tags::visibility.eq(visibility);
    let is_one_of = |[one, two, three]: Visible| is(one).or(is(two)).or(is(three));
    let follow = follows::followed_id.eq(post_tags::author_id).and(follows::follower_id.eq(viewer.id));
    let follow = follows::table.filter(follow).select(follows::follower_id).single_value();
    let is_visible =
        post_tags::author_id.eq(viewer.id).or(is_one_of(others)).or(is_one_of(followed).and(follow.is_not_null()));
    let is_enabled = users::table.filter(users::id.eq(post_tags::author_id)).select(users::enabled).single_value();
    let is_visible = is_visible.and(not(or_muted(viewer, is_enabled_account_blocked(viewer, post_tags::author_id))));
    let is_shown = is_enabled.and(is_visible.nullable());
    let entries = post_tags::table.filter(post_tags::tag.eq(tag));
    let entries = entries.select((post_tags::created_at, post_tags::id, is_shown));
    let entries: QueryResult<Vec<Entry>> = load!(entries, post_tags, slice, conn);
    let (ids, rest) = shown_posts(entries?, slice, most);
    let may_be_shown = visible_to(viewer, followed, others)
        .and(not(or_muted(viewer, is_enabled_account_blocked(viewer, posts::author_id))));
    Ok((views!(ids, viewer, may_be_shown, slice.toward, conn), rest))
}

#[cfg(test)]
mod tests {
    use agora_domain::clock::Timestamp;
    use uuid::Uuid;

    use super::*;
    use crate::rows::Toward;

    fn id(n: u8) -> DbId {
        DbId(Uuid::from_u128(n.into()))
    }

    /// Returns the posts shown by a part of at most `part` entries, and the entry after which the next part begins.
    fn part(are_shown: &[bool], part: usize, most: usize) -> (Vec<DbId>, Option<DbId>) {
        let at = DbInstant(Timestamp::from_unix_millis(0));
        let entries = (0..).zip(are_shown).map(|(n, is_shown)| (at, id(n), Some(*is_shown))).collect();
        let (ids, rest) = shown_posts(entries, Slice::new(Toward::Older, None, part), most);
        (ids, rest.map(|After(_, id)| id))
    }

    #[test]
    fn the_next_part_begins_after_the_last_entry_that_was_read() {
        assert_eq!(part(&[true, false, true], 3, 3), (vec![id(0), id(2)], Some(id(2))));
        assert_eq!(part(&[false; 3], 3, 3), (vec![], Some(id(2))));
        // Entries beyond the wanted number do not count as read.
        assert_eq!(part(&[true, false, true, true], 4, 2), (vec![id(0), id(2)], Some(id(2))));
    }

    #[test]
    fn there_is_no_next_part_after_the_end_of_a_list() {
        assert_eq!(part(&[true, false], 3, 3), (vec![id(0)], None));
        assert_eq!(part(&[], 3, 3), (vec![], None));
    }
}
