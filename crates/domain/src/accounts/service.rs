//! The use cases of accounts, profiles and roles.

use std::sync::Arc;

use super::sessions::InvalidateSessionsOnDrop;
use super::{
    Account, AccountRepository, Admin, Caller, LoginIdentifier, Member, NewAccount, Password, PasswordChange,
    PasswordHasher, Privacy, ProfileChanges, ProfileFields, ProfilePicture, Registration, Role, RoleAction, RoleChange,
    Roles, SessionRepository, SessionView, TokenLifetime,
};
use crate::audit::{Action, Actor, AuditEntry, Target};
use crate::clock::Clock;
use crate::error::{Conflict, Error, FieldName, Resource, Result};
use crate::id::{IdGenerator, UserId};
use crate::idempotency::{Attempt, AttemptId, Outcome};
use crate::limits::{ClientAddress, Requester};
use crate::media::{ImagePorts, Images};
use crate::page::{Page, PageRequest};

/// Registers, shows and changes accounts.
pub struct Accounts {
    accounts: Arc<dyn AccountRepository>,
    sessions: Arc<dyn SessionRepository>,
    passwords: Arc<dyn PasswordHasher>,
    images: Images,
    token_lifetime: TokenLifetime,
    clock: Arc<dyn Clock>,
    ids: Arc<dyn IdGenerator>,
}

/// An account that an administrator, or the operator, is about to change: proof that it exists and that the caller may.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ManagedAccount {
    id: UserId,
    actor: Actor,
}

impl ManagedAccount {
    /// Returns the id of the account.
    pub const fn id(self) -> UserId {
        self.id
    }
}

/// An account as it is shown to the operator.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AccountDetails {
    /// The account.
    pub account: Account,
    /// The number of its active sessions: neither ended, nor too old for a valid token.
    pub sessions: u64,
}

impl Accounts {
    /// Creates the use cases over these ports.
    pub fn new(
        accounts: Arc<dyn AccountRepository>,
        sessions: Arc<dyn SessionRepository>,
        passwords: Arc<dyn PasswordHasher>,
        images: ImagePorts,
        token_lifetime: TokenLifetime,
        clock: Arc<dyn Clock>,
        ids: Arc<dyn IdGenerator>,
    ) -> Self {
        let images = Images::new(images, Arc::clone(&clock));
        Self { accounts, sessions, passwords, images, token_lifetime, clock, ids }
    }

    /// Registers an account with role USER.
    ///
    /// # Errors
    /// [`Error::Conflict`] when the username or the email is taken, in any letter case.
    pub async fn register(
        &self,
        registration: Registration,
        client: ClientAddress,
        attempt: Attempt,
    ) -> Result<UserId> {
        if let Some(Outcome::Registered(user)) = attempt.outcome() {
            return Ok(user);
        }
        let requester = Requester { account: None, address: client };
        self.create(registration, Roles::USER, requester, attempt.id()).await
    }

    /// Makes an account with ADMIN and USER: for the operator, not for clients.
    ///
    /// # Errors
    /// [`Error::Conflict`] when the username or the email is taken, in any letter case.
    pub async fn create_admin(&self, registration: Registration) -> Result<UserId> {
        self.create(registration, Roles::ADMIN_AND_USER, Requester::local(), None).await
    }

    async fn create(
        &self,
        registration: Registration,
        roles: Roles,
        requester: Requester,
        attempt: Option<AttemptId>,
    ) -> Result<UserId> {
        // A name that is taken is refused before the costly hash; the repository decides between concurrent registrations.
        for (identifier, conflict) in [
            (LoginIdentifier::Username(registration.username.key()), Conflict::Username),
            (LoginIdentifier::Email(registration.email.key()), Conflict::Email),
        ] {
            if self.accounts.find_id(&identifier).await?.is_some() {
                return Err(Error::Conflict(conflict));
            }
        }
        let password = self.passwords.hash(&registration.password, &requester).await?;
        let account = Account {
            id: UserId::new(self.ids.generate()),
            username: registration.username,
            email: registration.email,
            display_name: None,
            biography: registration.biography,
            profile_picture: None,
            privacy: Privacy::default(),
            roles,
            enabled: true,
            email_verified: false,
            created_at: self.clock.now(),
        };
        let id = account.id;
        // Only the operator makes accounts that have ADMIN from the beginning.
        let is_admin = roles.contains(Role::Admin);
        let entry = is_admin.then(|| {
            let created = ManagedAccount { id, actor: Actor::CommandLine };
            self.entry(created, Action::RoleAdded).with_details(Role::Admin.as_str())
        });
        self.accounts.create(&NewAccount { account, password, entry }, attempt).await?;
        Ok(id)
    }

    /// Returns the account that the identifier names, to be changed: for the operator, not for clients.
    ///
    /// # Errors
    /// [`Error::NotFound`] when it names none.
    pub async fn managed_by_operator(&self, identifier: &LoginIdentifier) -> Result<ManagedAccount> {
        let id = self.accounts.find_id(identifier).await?.ok_or(Error::NotFound(Resource::User))?;
        Ok(ManagedAccount { id, actor: Actor::CommandLine })
    }

    /// Returns the entry for the audit log of an act.
    fn entry(&self, ManagedAccount { id, actor }: ManagedAccount, action: Action) -> AuditEntry {
        AuditEntry::new(&*self.ids, self.clock.now(), actor, action, Target::User(id))
    }

    /// Returns an account, whatever its roles, and how many sessions it has: for the operator, not for clients.
    ///
    /// # Errors
    /// [`Error::NotFound`] when it no longer exists.
    pub async fn details(&self, ManagedAccount { id: user, .. }: ManagedAccount) -> Result<AccountDetails> {
        let account = self.accounts.find(user).await?.ok_or(Error::NotFound(Resource::User))?;
        let opened_after = self.token_lifetime.oldest_session(self.clock.now());
        let sessions = self.accounts.count_sessions(user, opened_after).await?;
        Ok(AccountDetails { account, sessions })
    }

    /// Gives an account another password and ends all of its sessions: for the operator, not for clients.
    ///
    /// # Errors
    /// [`Error::Conflict`] when the password is changed by somebody else at the same time.
    pub async fn reset_password(&self, account: ManagedAccount, password: &Password) -> Result<()> {
        let user = account.id;
        let new = self.passwords.hash(password, &Requester::local()).await?;
        let verified = self.accounts.find_password(user).await?.ok_or(Error::NotFound(Resource::User))?;
        let _invalidate = InvalidateSessionsOnDrop(self.sessions.as_ref(), user);
        let entry = self.entry(account, Action::PasswordReset);
        let change = PasswordChange { user, verified, new, keep: None, at: entry.at, entry: Some(entry) };
        if self.accounts.change_password(&change).await? { Ok(()) } else { Err(Error::Conflict(Conflict::Unforeseen)) }
    }

    /// Returns the accounts with ADMIN, oldest first: for the operator, not for clients.
    ///
    /// # Errors
    /// Those of the repository.
    pub async fn admins(&self) -> Result<Vec<Account>> {
        self.accounts.list_admins().await
    }

    /// Returns whether any account has ADMIN.
    ///
    /// # Errors
    /// Those of the repository.
    pub async fn has_admin(&self) -> Result<bool> {
        self.accounts.has_admin().await
    }

    /// Returns the caller's own account, which a caller without any role may see too.
    ///
    /// # Errors
    /// [`Error::NotFound`] when it no longer exists.
    pub async fn me(&self, caller: &Caller) -> Result<Account> {
        self.accounts.find(caller.user).await?.ok_or(Error::NotFound(Resource::User))
    }

    /// Returns any account.
    ///
    /// # Errors
    /// [`Error::NotFound`] when there is none.
    pub async fn get(&self, _: &Admin, id: UserId) -> Result<Account> {
        self.accounts.find(id).await?.ok_or(Error::NotFound(Resource::User))
    }

    /// Returns all accounts, oldest first.
    ///
    /// # Errors
    /// Those of the repository.
    pub async fn list(&self, _: &Admin, page: PageRequest) -> Result<Page<Account>> {
        self.accounts.list(page).await
    }

    /// Returns an account that exists, to be changed. Called before the change itself is validated.
    ///
    /// # Errors
    /// [`Error::NotFound`] when there is none.
    pub async fn managed(&self, admin: &Admin, id: UserId) -> Result<ManagedAccount> {
        let actor = Actor::Account(admin.id());
        self.get(admin, id).await.map(|account| ManagedAccount { id: account.id, actor })
    }

    /// Adds or removes a role; nothing happens when the account has it, or lacks it, already.
    ///
    /// # Errors
    /// [`Error::Disallowed`] when the last enabled ADMIN would lose it.
    pub async fn change_role(&self, account: ManagedAccount, change: RoleChange) -> Result<()> {
        let action = match change.action {
            RoleAction::Add => Action::RoleAdded,
            RoleAction::Remove => Action::RoleRemoved,
        };
        let entry = self.entry(account, action).with_details(change.role.as_str());
        let _invalidate = InvalidateSessionsOnDrop(self.sessions.as_ref(), account.id);
        self.accounts.change_role(account.id, change, &entry).await
    }

    /// Enables an account, or disables it and ends all of its sessions.
    ///
    /// # Errors
    /// [`Error::Disallowed`] when the last enabled ADMIN would be disabled.
    pub async fn set_enabled(&self, account: ManagedAccount, enabled: bool) -> Result<()> {
        let entry = self.entry(account, if enabled { Action::AccountEnabled } else { Action::AccountDisabled });
        let _invalidate = InvalidateSessionsOnDrop(self.sessions.as_ref(), account.id);
        self.accounts.set_enabled(account.id, enabled, &entry).await
    }

    /// Returns the active sessions of an account, newest first.
    ///
    /// # Errors
    /// Those of the repository.
    pub async fn list_sessions(&self, account: ManagedAccount, page: PageRequest) -> Result<Page<SessionView>> {
        let opened_after = self.token_lifetime.oldest_session(self.clock.now());
        self.sessions.list(account.id, opened_after, page).await
    }

    /// Ends all sessions of an account.
    ///
    /// # Errors
    /// Those of the repository.
    pub async fn end_sessions(&self, account: ManagedAccount) -> Result<()> {
        let entry = self.entry(account, Action::SessionsEnded);
        self.sessions.revoke_all(account.id, &entry).await
    }

    /// Changes the given fields of the caller's profile.
    ///
    /// # Errors
    /// [`Error::Invalid`] with the invalid fields; [`Error::TooLarge`] for the picture;
    /// [`Error::Unavailable`] when too many images of the requester, or of all requesters, are being checked.
    pub async fn update_profile(
        &self,
        caller: &Member,
        requester: &Requester,
        fields: ProfileFields,
    ) -> Result<Account> {
        let ProfileFields { display_name, biography, privacy, picture, remove_picture, mut errors } = fields;
        let picture = self.images.clean(requester, FieldName::ProfilePicture, picture, &mut errors).await?;
        errors.into_result()?;
        let stored = self.images.put(picture).await?.map(|picture| ProfilePicture::new(picture.key));
        let profile_picture = (stored.is_some() || remove_picture).then_some(stored);
        let changes = ProfileChanges { display_name, biography, privacy, profile_picture };
        match self.accounts.update_profile(caller.id(), &changes, self.clock.now()).await {
            Ok(updated) => {
                self.images.delete_unreferenced(updated.replaced_picture).await;
                Ok(updated.account)
            }
            Err(error) => {
                let stored = changes.profile_picture.flatten().map(|picture| picture.key);
                Err(self.images.take_back(stored, error).await)
            }
        }
    }
}
