use agora_domain::Error;
use agora_domain::accounts::{
    Account, ConfirmedPassword, LoginIdentifier, PasswordChange, ProfileChanges, Role, RoleChange, UpdatedProfile,
};
use agora_domain::error::Resource;
use agora_domain::search::{IndexedText, Kind};
use diesel::dsl::{exists, not};
use diesel::{BoolExpressionMethods, ExpressionMethods, OptionalExtension, QueryDsl, SelectableHelper};
use uuid::Uuid;

use super::kept_names::{Name, ensure_free};
use super::{Conn, RunQueryDsl, audit, built, word_in};
use crate::account_filters::{DbViewer, is_user_blocked_or_deleted};
use crate::error::{Failure, Outcome};
use crate::rows::{PictureRow, Slice, UserRow, count};
use crate::schema::{AuditRecord, UserRecord, sessions, users};
use crate::search_index::TextRow;
use crate::sql_types::{DbId, DbInstant};

pub(super) const NO_USER: Failure = Failure::Rule(Error::NotFound(Resource::User));

pub(crate) async fn insert(
    conn: &mut Conn<'_>,
    user: UserRecord,
    words: IndexedText,
    entry: Option<AuditRecord>,
) -> Outcome<()> {
    let (picture, at) = (user.profile_picture.clone(), user.created_at);
    let text = TextRow::new(Kind::Account, user.id, at, &words);
    let (username, email) = (user.username_key.clone(), user.email_key.clone());
    diesel::insert_into(users::table).values((user, users::indexed.eq(true))).execute(conn).await?;
    for name in [Name::Username(&username), Name::Email(&email)] {
        ensure_free(conn, name, at).await?;
    }
    super::indexing::insert(conn, text).await?;
    if let Some(entry) = entry {
        audit::record(conn, entry).await?;
    }
    super::images::replace(conn, &[], picture.as_deref().as_slice(), at).await
}

pub(crate) async fn find(conn: &mut Conn<'_>, id: DbId) -> Outcome<Option<UserRow>> {
    let there = users::table.find(id).filter(not(users::is_deleted));
    Ok(there.select(UserRow::as_select()).get_result(conn).await.optional()?)
}

/// Returns the id, password hash and enabled flag of the account with a username or email address.
pub(crate) async fn find_login(conn: &mut Conn<'_>, login: LoginIdentifier) -> Outcome<Option<(DbId, String, bool)>> {
    let columns = (users::id, users::password_hash, users::enabled);
    let found = match login {
        LoginIdentifier::Username(key) => {
            users::table.filter(users::username_key.eq(key)).select(columns).get_result(conn)
        }
        LoginIdentifier::Email(key) => users::table.filter(users::email_key.eq(key)).select(columns).get_result(conn),
    };
    Ok(found.await.optional()?)
}

/// Returns the ids of the accounts with these username keys, each with its key, except those deleted or with a block between them
/// and the author.
pub(crate) async fn find_ids(conn: &mut Conn<'_>, keys: Vec<String>, author: DbViewer) -> Outcome<Vec<(String, DbId)>> {
    let named = users::table.filter(word_in(users::username_key, keys)).filter(not(is_user_blocked_or_deleted(author)));
    Ok(named.select((users::username_key, users::id)).load(conn).await?)
}

pub(crate) async fn find_password(conn: &mut Conn<'_>, id: DbId) -> Outcome<Option<String>> {
    let there = users::table.find(id).filter(not(users::is_deleted));
    Ok(there.select(users::password_hash).get_result(conn).await.optional()?)
}

pub(crate) async fn list(conn: &mut Conn<'_>, slice: Slice) -> Outcome<Vec<UserRow>> {
    let there = users::table.filter(not(users::is_deleted)).select(UserRow::as_select());
    Ok(super::load!(there, users, slice, conn)?)
}

pub(crate) async fn list_admins(conn: &mut Conn<'_>) -> Outcome<Vec<UserRow>> {
    let admins = users::table.filter(users::is_admin).order((users::created_at, users::id));
    Ok(admins.select(UserRow::as_select()).load(conn).await?)
}

pub(crate) async fn count_sessions(conn: &mut Conn<'_>, user: DbId, opened_after: DbInstant) -> Outcome<i64> {
    let live = sessions::user_id.eq(user).and(sessions::revoked_at.is_null()).and(sessions::opened_at.gt(opened_after));
    Ok(sessions::table.filter(live).count().get_result(conn).await?)
}

pub(crate) async fn has_admin(conn: &mut Conn<'_>) -> Outcome<bool> {
    Ok(diesel::select(exists(users::table.filter(users::is_admin))).get_result(conn).await?)
}

/// Locks an account against changes by others, and returns it. Fails if the account does not exist or was deleted.
pub(super) async fn lock_account(conn: &mut Conn<'_>, id: DbId) -> Outcome<UserRow> {
    match super::lock_user(conn, id).await? {
        Some((row, false)) => Ok(row),
        Some((_, true)) | None => Err(NO_USER),
    }
}

/// Locks an account against changes by others, and returns it. Fails if its password is no longer the one that was verified.
pub(super) async fn lock_confirmed(conn: &mut Conn<'_>, confirmed: ConfirmedPassword) -> Outcome<UserRow> {
    let id = DbId(confirmed.user.uuid());
    let row = lock_account(conn, id).await?;
    let is_same = users::password_hash.eq(confirmed.password.as_str().to_owned());
    let is_same = users::table.find(id).select(is_same).get_result::<bool>(conn).await?;
    if is_same { Ok(row) } else { Err(Failure::Rule(Error::Stale)) }
}

/// Applies a domain rule about roles or disabling to the stored account. The rule gets the account and the number of other
/// enabled accounts with the role ADMIN.
async fn change_with_rule(
    conn: &mut Conn<'_>,
    id: DbId,
    rule: impl FnOnce(Account, u64) -> agora_domain::Result<Account> + Send,
    entry: AuditRecord,
) -> Outcome<()> {
    super::lock_admins(conn, id).await?;
    let row = lock_account(conn, id).await?;
    let others = users::table.filter(users::is_admin.and(users::enabled.eq(true)).and(users::id.ne(id))).count();
    let before = row.account()?;
    let account = rule(before.clone(), count(others.get_result(conn).await?))?;
    if account == before {
        return Ok(());
    }
    let has = |role| account.roles.contains(role);
    let (is_admin, is_user) = (users::is_admin.eq(has(Role::Admin)), users::is_user.eq(has(Role::User)));
    diesel::update(users::table.find(id))
        .set((is_admin, is_user, users::enabled.eq(account.enabled)))
        .execute(conn)
        .await?;
    audit::record(conn, entry).await
}

/// Applies the domain's rule of role changes to the stored account.
pub(crate) async fn change_role(conn: &mut Conn<'_>, id: DbId, change: RoleChange, entry: AuditRecord) -> Outcome<()> {
    change_with_rule(conn, id, |account, other_admins| account.with_role_change(change, other_admins), entry).await
}

/// Applies the domain's rule of disabling to the stored account.
pub(crate) async fn set_enabled(conn: &mut Conn<'_>, id: DbId, enabled: bool, entry: AuditRecord) -> Outcome<()> {
    let at = entry.created_at;
    change_with_rule(conn, id, |account, other_admins| account.with_enabled(enabled, other_admins), entry).await?;
    if !enabled {
        revoke_sessions(conn, id, None, at).await?;
        super::mail_tokens::delete_all(conn, id).await?;
    }
    Ok(())
}

/// Applies the domain's rule of profile changes to the stored account.
pub(crate) async fn update_profile(
    conn: &mut Conn<'_>,
    id: DbId,
    changes: ProfileChanges,
    at: DbInstant,
) -> Outcome<UpdatedProfile> {
    let row = lock_account(conn, id).await?;
    let old = row.picture.clone();
    let (account, replaced_picture) = row.account()?.with_profile(&changes);
    let display_name = account.display_name.as_ref().map(|name| name.as_str().to_owned());
    let biography = account.biography.as_ref().map(|text| text.as_str().to_owned());
    let new = match &changes.profile_picture {
        Some(Some(picture)) => PictureRow::of(picture),
        Some(None) => PictureRow { profile_picture: None, small_picture: None },
        None => old.clone(),
    };
    diesel::update(users::table.find(id))
        .set((
            users::display_name.eq(display_name),
            users::biography.eq(biography),
            users::profile_picture.eq(new.profile_picture.clone()),
            users::small_picture.eq(new.small_picture),
            users::discoverable.eq(account.privacy.discoverable),
            users::searchable.eq(account.privacy.searchable),
            users::hide_counts.eq(account.privacy.hide_counts),
        ))
        .execute(conn)
        .await?;
    if changes.display_name.is_some() {
        let words = IndexedText::of_account(&account.username, account.display_name.as_ref());
        let text = TextRow::new(Kind::Account, id, DbInstant(account.created_at), &words);
        super::indexing::renew(conn, Kind::Account, vec![text]).await?;
    }
    let (old, new) = (old.profile_picture, new.profile_picture);
    super::images::replace(conn, old.as_deref().as_slice(), new.as_deref().as_slice(), at).await?;
    Ok(UpdatedProfile { account, replaced_picture })
}

/// Replaces the verified password by a new one, and revokes the account's sessions except `keep`. Returns `false`, and changes
/// nothing, if the password was no longer the verified one.
pub(crate) async fn change_password(conn: &mut Conn<'_>, change: PasswordChange) -> Outcome<bool> {
    let PasswordChange { user, verified, new, keep, at, entry } = change;
    let user = DbId(user.uuid());
    let verified = users::table.find(user).filter(users::password_hash.eq(verified.as_str().to_owned()));
    if diesel::update(verified).set(users::password_hash.eq(new.as_str().to_owned())).execute(conn).await? == 0 {
        return Ok(false);
    }
    revoke_sessions(conn, user, keep.map(|session| DbId(session.uuid())), DbInstant(at)).await?;
    super::mail_tokens::delete_reset_and_change(conn, user).await?;
    if let Some(entry) = entry {
        audit::record(conn, AuditRecord::of(&entry)).await?;
    }
    Ok(true)
}

/// Stores another hash of the same password, if the account still has the verified one.
pub(crate) async fn renew_password_hash(conn: &mut Conn<'_>, user: DbId, verified: String, new: String) -> Outcome<()> {
    let verified = users::table.find(user).filter(users::password_hash.eq(verified));
    diesel::update(verified).set(users::password_hash.eq(new)).execute(conn).await?;
    Ok(())
}

/// Revokes every live session of the account except `keep`. Returns the number of revoked sessions.
pub(crate) async fn revoke_sessions(
    conn: &mut Conn<'_>,
    user: DbId,
    keep: Option<DbId>,
    at: DbInstant,
) -> Outcome<usize> {
    // No session has the nil id.
    let keep = keep.unwrap_or(DbId(Uuid::nil()));
    let live = sessions::user_id.eq(user).and(sessions::revoked_at.is_null()).and(sessions::id.ne(keep));
    Ok(diesel::update(sessions::table.filter(live)).set(sessions::revoked_at.eq(Some(at))).execute(conn).await?)
}
