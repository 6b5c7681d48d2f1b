//! The account repository.

use std::collections::BTreeMap;

use agora_domain::Result;
use agora_domain::accounts::{
    Account, AccountRepository, Credentials, LoginIdentifier, NewAccount, PasswordChange, PasswordHash, ProfileChanges,
    RoleChange, UpdatedProfile,
};
use agora_domain::audit::AuditEntry;
use agora_domain::clock::Timestamp;
use agora_domain::id::UserId;
use agora_domain::idempotency::{AttemptId, Outcome};
use agora_domain::page::{Page, PageRequest};
use agora_domain::search::IndexedText;
use async_trait::async_trait;

use crate::account_filters::DbViewer;
use crate::rows::{Slice, UserRow, count, keyset, page_of};
use crate::schema::{AuditRecord, UserRecord};
use crate::sql_types::{DbId, DbInstant};
use crate::{Database, call, once};

#[async_trait]
impl AccountRepository for Database {
    async fn create(&self, new: &NewAccount, attempt: Option<AttemptId>) -> Result<()> {
        let user = UserRecord::of(new);
        let Account { id, username, display_name, .. } = &new.account;
        let (id, words) = (*id, IndexedText::of_account(username, display_name.as_ref()));
        let entry = new.entry.as_ref().map(AuditRecord::of);
        once!(self, attempt, write accounts::insert(user, words, entry), did given => Outcome::Registered(id))
    }

    async fn find(&self, id: UserId) -> Result<Option<Account>> {
        let row = call!(self, read accounts::find(DbId(id.uuid())))?;
        Ok(row.map(UserRow::account).transpose()?)
    }

    async fn find_id(&self, identifier: &LoginIdentifier) -> Result<Option<UserId>> {
        let login = identifier.clone();
        Ok(call!(self, read accounts::find_login(login))?.map(|(id, ..)| id.0.into()))
    }

    async fn find_ids(&self, username_keys: &[String], author: UserId) -> Result<BTreeMap<String, UserId>> {
        let (keys, author) = (username_keys.to_vec(), DbViewer::ordinary(author));
        let found = call!(self, list accounts::find_ids(keys, author))?;
        Ok(found.into_iter().map(|(key, id)| (key, id.0.into())).collect())
    }

    async fn find_credentials(&self, identifier: &LoginIdentifier) -> Result<Option<Credentials>> {
        let login = identifier.clone();
        let found = call!(self, read accounts::find_login(login))?;
        Ok(found.map(|(id, hash, enabled)| Credentials {
            user: id.0.into(),
            password: PasswordHash::new(hash),
            enabled,
        }))
    }

    async fn find_password(&self, id: UserId) -> Result<Option<PasswordHash>> {
        Ok(call!(self, read accounts::find_password(DbId(id.uuid())))?.map(PasswordHash::new))
    }

    async fn list(&self, page: PageRequest) -> Result<Page<Account>> {
        let rows = call!(self, list accounts::list(Slice::oldest_first(page)))?;
        page_of(page, rows, |row| Ok((keyset(row.created_at, row.id), row.account()?)))
    }

    async fn list_admins(&self) -> Result<Vec<Account>> {
        let rows = call!(self, read accounts::list_admins())?;
        Ok(rows.into_iter().map(UserRow::account).collect::<std::result::Result<_, _>>()?)
    }

    async fn count_sessions(&self, id: UserId, opened_after: Timestamp) -> Result<u64> {
        Ok(count(call!(self, read accounts::count_sessions(DbId(id.uuid()), DbInstant(opened_after)))?))
    }

    async fn has_admin(&self) -> Result<bool> {
        call!(self, read accounts::has_admin())
    }

    async fn change_role(&self, id: UserId, change: RoleChange, entry: &AuditEntry) -> Result<()> {
        let entry = AuditRecord::of(entry);
        call!(self, write accounts::change_role(DbId(id.uuid()), change, entry))
    }

    async fn set_enabled(&self, id: UserId, enabled: bool, entry: &AuditEntry) -> Result<()> {
        let entry = AuditRecord::of(entry);
        call!(self, write accounts::set_enabled(DbId(id.uuid()), enabled, entry))
    }

    async fn update_profile(&self, id: UserId, changes: &ProfileChanges, at: Timestamp) -> Result<UpdatedProfile> {
        let changes = changes.clone();
        call!(self, write accounts::update_profile(DbId(id.uuid()), changes, DbInstant(at)))
    }

    async fn change_password(&self, change: &PasswordChange) -> Result<bool> {
        let change = change.clone();
        call!(self, write accounts::change_password(change))
    }

    async fn renew_password_hash(&self, user: UserId, verified: &PasswordHash, new: &PasswordHash) -> Result<()> {
        let (user, verified, new) = (DbId(user.uuid()), verified.as_str().to_owned(), new.as_str().to_owned());
        call!(self, write accounts::renew_password_hash(user, verified, new))
    }
}
