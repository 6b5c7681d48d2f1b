//! Accounts, callers and sessions, and the rules about them.

use super::{
    Biography, DisplayName, Email, LoginIdentifier, Password, PasswordAttempt, PasswordHash, ProfilePicture, Role,
    Roles, Username,
};
use crate::audit::AuditEntry;
use crate::clock::Timestamp;
use crate::error::{Disallowed, Error, FieldErrors, Forbidden, Result};
use crate::id::{SessionId, UserId};
use crate::media::ImageKey;
use crate::named::named;
use crate::text::texts;

/// A user's account.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Account {
    /// Names it.
    pub id: UserId,
    /// The user's name.
    pub username: Username,
    /// The user's email address.
    pub email: Email,
    /// What others are shown beside the username.
    pub display_name: Option<DisplayName>,
    /// What the user says of themselves.
    pub biography: Option<Biography>,
    /// The user's picture.
    pub profile_picture: Option<ProfilePicture>,
    /// What others find and see of the account.
    pub privacy: Privacy,
    /// What the account may do.
    pub roles: Roles,
    /// False once an ADMIN has disabled it: no login, no session.
    pub enabled: bool,
    /// Whether somebody has shown that they read what is sent to the address.
    pub email_verified: bool,
    /// When it was registered.
    pub created_at: Timestamp,
}

impl Account {
    /// Returns the account after a role was added or removed; the same when there was nothing to do. `other_admins`
    /// counts the other enabled accounts with ADMIN.
    ///
    /// # Errors
    /// [`Error::Disallowed`] when this would leave no enabled ADMIN.
    pub fn with_role_change(mut self, change: RoleChange, other_admins: u64) -> Result<Self> {
        let removes_admin = change == RoleChange { role: Role::Admin, action: RoleAction::Remove };
        if removes_admin && self.is_last_admin(other_admins) {
            return Err(LAST_ADMIN);
        }
        self.roles = self.roles.with(change.role, change.action == RoleAction::Add);
        Ok(self)
    }

    /// Returns the account enabled or disabled. `other_admins` counts the other enabled accounts with ADMIN.
    ///
    /// # Errors
    /// [`Error::Disallowed`] when this would leave no enabled ADMIN.
    pub fn with_enabled(mut self, enabled: bool, other_admins: u64) -> Result<Self> {
        if !enabled && self.is_last_admin(other_admins) {
            return Err(LAST_ADMIN);
        }
        self.enabled = enabled;
        Ok(self)
    }

    /// Returns the account after a change of its profile, and the picture that no longer belongs to it.
    pub fn with_profile(mut self, changes: &ProfileChanges) -> (Self, Option<ImageKey>) {
        if let Some(display_name) = &changes.display_name {
            self.display_name.clone_from(display_name);
        }
        self.privacy = self.privacy.with(changes.privacy);
        if let Some(biography) = &changes.biography {
            self.biography.clone_from(biography);
        }
        let mut replaced = None;
        if let Some(picture) = &changes.profile_picture {
            let old = std::mem::replace(&mut self.profile_picture, picture.clone()).map(|old| old.key);
            replaced = old.filter(|old| picture.as_ref().is_none_or(|new| new.key != *old));
        }
        (self, replaced)
    }

    pub(crate) fn is_last_admin(&self, other_admins: u64) -> bool {
        self.enabled && self.roles.contains(Role::Admin) && other_admins == 0
    }
}

const LAST_ADMIN: Error = Error::Disallowed(Disallowed::LastAdmin);

/// What others find and see of an account, as its user has chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Privacy {
    /// Whether it is listed among others, and found by a search for users.
    pub discoverable: bool,
    /// Whether its posts are found by a search.
    pub searchable: bool,
    /// Whether others are not told how many follow it, and how many it follows.
    pub hide_counts: bool,
}

impl Default for Privacy {
    fn default() -> Self {
        Self { discoverable: true, searchable: true, hide_counts: false }
    }
}

impl Privacy {
    /// Returns the choices after a change.
    #[must_use]
    pub fn with(self, changes: PrivacyChanges) -> Self {
        Self {
            discoverable: changes.discoverable.unwrap_or(self.discoverable),
            searchable: changes.searchable.unwrap_or(self.searchable),
            hide_counts: changes.hide_counts.unwrap_or(self.hide_counts),
        }
    }
}

/// A change of [`Privacy`]: what is `None` stays.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PrivacyChanges {
    /// Whether the account is listed among others.
    pub discoverable: Option<bool>,
    /// Whether its posts are found by a search.
    pub searchable: Option<bool>,
    /// Whether others are not told how many follow it, and how many it follows.
    pub hide_counts: Option<bool>,
}

/// A user as posts show them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Author {
    /// Names the account.
    pub id: UserId,
    /// The user's name.
    pub username: Username,
    /// The user's email address.
    pub email: Email,
    /// What others are shown beside the username.
    pub display_name: Option<DisplayName>,
    /// What the user says of themselves.
    pub biography: Option<Biography>,
    /// The user's picture.
    pub profile_picture: Option<ProfilePicture>,
}

/// A user as comments and follow lists show them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UserSummary {
    /// Names the account.
    pub id: UserId,
    /// The user's name.
    pub username: Username,
    /// The user's email address.
    pub email: Email,
}

/// A user beside what the user did, where whoever may find it sees it: without an email address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UserPreview {
    /// Names the account.
    pub id: UserId,
    /// The user's name.
    pub username: Username,
    /// What others are shown beside the username.
    pub display_name: Option<DisplayName>,
    /// The user's picture.
    pub profile_picture: Option<ProfilePicture>,
}

impl From<Author> for UserSummary {
    fn from(author: Author) -> Self {
        Self { id: author.id, username: author.username, email: author.email }
    }
}

/// An account about to be stored.
#[derive(Debug, Clone)]
pub struct NewAccount {
    /// The account.
    pub account: Account,
    /// The hash of its password.
    pub password: PasswordHash,
    /// The record of it, where it is an administrative act.
    pub entry: Option<AuditEntry>,
}

/// What a stored account is compared with at login.
#[derive(Debug, Clone)]
pub struct Credentials {
    /// The account.
    pub user: UserId,
    /// The hash of its password.
    pub password: PasswordHash,
    /// Whether it may log in.
    pub enabled: bool,
}

/// One login. Its tokens name it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Session {
    /// Names it.
    pub id: SessionId,
    /// Whose it is.
    pub user: UserId,
    /// When the user logged in.
    pub opened_at: Timestamp,
}

impl Session {
    /// How long after login a token may still be renewed: 30 days.
    pub const RENEWABLE_MILLIS: i64 = 30 * 24 * 60 * 60 * 1000;

    /// Returns whether a token of this session may be renewed at `now`.
    pub const fn is_renewable(&self, now: Timestamp) -> bool {
        now.unix_millis() < self.opened_at.plus_millis(Self::RENEWABLE_MILLIS).unix_millis()
    }
}

texts! {
    /// What a client says of itself when a user logs in: up to 200 characters, as it was sent but for control characters.
    UserAgent(200);
}

impl UserAgent {
    /// Returns what is kept of what a client sent; `None` when that is nothing.
    pub fn of(sent: &str) -> Option<Self> {
        let visible: String = sent.chars().filter(|c| !c.is_control()).collect();
        let kept: String = visible.trim().chars().take(Self::MAX_CHARS).collect();
        (!kept.is_empty()).then_some(Self(kept))
    }
}

/// A session as its user sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionView {
    /// The session.
    pub session: Session,
    /// When it was last used, by the hour.
    pub last_seen_at: Timestamp,
    /// What the client said of itself.
    pub user_agent: Option<UserAgent>,
}

/// A session with what decides about its requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SessionState {
    /// The session.
    pub session: Session,
    /// Whether it was ended by logout, password change or disabling.
    pub revoked: bool,
    /// Whether its account is enabled.
    pub enabled: bool,
    /// The roles of its account.
    pub roles: Roles,
    /// When it was last used, by the hour.
    pub last_seen_at: Timestamp,
}

impl SessionState {
    const HOUR_MILLIS: i64 = 60 * 60 * 1000;

    /// Returns when the session was used, by the hour, if that is worth being kept: it was not used in this hour before.
    pub const fn seen_anew(&self, now: Timestamp) -> Option<Timestamp> {
        let hour = now.unix_millis().div_euclid(Self::HOUR_MILLIS) * Self::HOUR_MILLIS;
        if hour > self.last_seen_at.unix_millis() { Some(Timestamp::from_unix_millis(hour)) } else { None }
    }
}

/// Somebody with a valid token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Caller {
    /// Who it is.
    pub user: UserId,
    /// The session of the token.
    pub session: Session,
    /// What the account may do.
    pub roles: Roles,
}

impl Caller {
    /// Returns the caller a session stands for; `None` when it was revoked or its account disabled.
    pub fn of(state: SessionState) -> Option<Self> {
        let SessionState { session, revoked, enabled, roles, .. } = state;
        (enabled && !revoked).then_some(Self { user: session.user, session, roles })
    }

    /// Returns the caller as one who has USER or ADMIN, which all but their own profile and logout need.
    ///
    /// # Errors
    /// [`Error::Forbidden`] without either role.
    pub fn member(self) -> Result<Member> {
        if self.roles.is_empty() { Err(Error::Forbidden(Forbidden::NoRole)) } else { Ok(Member(self)) }
    }

    /// Returns the caller as an administrator.
    ///
    /// # Errors
    /// [`Error::Forbidden`] without ADMIN.
    pub fn admin(self) -> Result<Admin> {
        if self.roles.contains(Role::Admin) { Ok(Admin(self)) } else { Err(Error::Forbidden(Forbidden::NotAdmin)) }
    }
}

/// A caller with USER or ADMIN.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Member(Caller);

impl Member {
    /// Who it is.
    pub const fn id(&self) -> UserId {
        self.0.user
    }

    /// Returns the session of the token.
    pub const fn session(&self) -> Session {
        self.0.session
    }

    /// Returns whether the caller is an administrator as well.
    pub fn is_admin(&self) -> bool {
        self.0.roles.contains(Role::Admin)
    }

    /// Returns the caller as one who reads.
    pub fn viewer(&self) -> Viewer {
        Viewer { id: self.id(), sees_all: self.is_admin() }
    }
}

/// Who reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Viewer {
    /// Names the account.
    pub id: UserId,
    /// Whether it is an administrator, who sees disabled accounts, and everybody whoever blocks whom (`contract`: Safety).
    pub sees_all: bool,
}

impl Viewer {
    /// Returns an account as one that is no administrator.
    pub const fn ordinary(id: UserId) -> Self {
        Self { id, sees_all: false }
    }
}

/// A caller with ADMIN.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Admin(Caller);

impl Admin {
    /// Who it is.
    pub const fn id(&self) -> UserId {
        self.0.user
    }

    /// Returns the administrator as one who reads.
    pub const fn viewer(&self) -> Viewer {
        Viewer { id: self.id(), sees_all: true }
    }
}

named! {
    /// Whether a role is given or taken.
    RoleAction "Action must be ADD or REMOVE" {
        /// Give it; nothing happens when the account has it.
        Add = "ADD",
        /// Take it; nothing happens when the account lacks it.
        Remove = "REMOVE",
    }
}

/// A change of an account's roles.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RoleChange {
    /// Which role.
    pub role: Role,
    /// Whether it is added or removed.
    pub action: RoleAction,
}

/// A valid registration.
#[derive(Debug, Clone)]
pub struct Registration {
    /// The name chosen.
    pub username: Username,
    /// The email address.
    pub email: Email,
    /// The password chosen.
    pub password: Password,
    /// What the user says of themselves.
    pub biography: Option<Biography>,
}

/// A login attempt.
#[derive(Debug, Clone)]
pub struct Login {
    /// How the account is named.
    pub identifier: LoginIdentifier,
    /// The password offered.
    pub password: PasswordAttempt,
    /// What the client says of itself.
    pub user_agent: Option<UserAgent>,
}

/// The fields of a profile that a client sent. What is `None` was not sent.
#[derive(Debug, Clone, Default)]
pub struct ProfileFields {
    /// The display name; `Some(None)` removes it.
    pub display_name: Option<Option<DisplayName>>,
    /// The biography; `Some(None)` removes it.
    pub biography: Option<Option<Biography>>,
    /// What others are to find and to see.
    pub privacy: PrivacyChanges,
    /// A file with the new picture.
    pub picture: Option<bytes::Bytes>,
    /// Whether the picture is removed, unless another one comes with it.
    pub remove_picture: bool,
    /// What is invalid among them, to be reported together with what the rules find.
    pub errors: FieldErrors,
}

/// A change of one's own profile: what is `None` stays.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ProfileChanges {
    /// The new display name; `Some(None)` removes it.
    pub display_name: Option<Option<DisplayName>>,
    /// The new biography; `Some(None)` removes it.
    pub biography: Option<Option<Biography>>,
    /// What others find and see from now on.
    pub privacy: PrivacyChanges,
    /// The new picture; `Some(None)` removes it.
    pub profile_picture: Option<Option<ProfilePicture>>,
}
