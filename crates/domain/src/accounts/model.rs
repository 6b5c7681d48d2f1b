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
use crate::string_enum::string_enum;
use crate::text::text_types;

/// A user's account.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Account {
    /// The id of the account.
    pub id: UserId,
    /// The user's name.
    pub username: Username,
    /// The user's email address.
    pub email: Email,
    /// The name that is shown beside the username.
    pub display_name: Option<DisplayName>,
    /// The user's description of themselves.
    pub biography: Option<Biography>,
    /// The user's picture.
    pub profile_picture: Option<ProfilePicture>,
    /// Whether others find the account, and what they see of it.
    pub privacy: Privacy,
    /// The roles of the account.
    pub roles: Roles,
    /// False once an ADMIN has disabled it: no login, no session.
    pub enabled: bool,
    /// Whether the user has proved that they receive mail at the address.
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

    /// Returns the account after a change of its profile, and the key of the picture that no longer belongs to it, if any.
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

/// The privacy settings of an account: whether others find it, and what they see of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Privacy {
    /// Whether it is listed in the directory, and found by a search for users.
    pub discoverable: bool,
    /// Whether its posts are found by a search.
    pub searchable: bool,
    /// Whether the numbers of its followers and followed users are hidden from others.
    pub hide_counts: bool,
}

impl Default for Privacy {
    fn default() -> Self {
        Self { discoverable: true, searchable: true, hide_counts: false }
    }
}

impl Privacy {
    /// Returns the settings after a change.
    #[must_use]
    pub fn with(self, changes: PrivacyChanges) -> Self {
        Self {
            discoverable: changes.discoverable.unwrap_or(self.discoverable),
            searchable: changes.searchable.unwrap_or(self.searchable),
            hide_counts: changes.hide_counts.unwrap_or(self.hide_counts),
        }
    }
}

/// A change of [`Privacy`]. Fields that are `None` stay as they are.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PrivacyChanges {
    /// Whether the account is listed in the directory, and found by a search for users.
    pub discoverable: Option<bool>,
    /// Whether its posts are found by a search.
    pub searchable: Option<bool>,
    /// Whether the numbers of its followers and followed users are hidden from others.
    pub hide_counts: Option<bool>,
}

/// A user as posts show them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Author {
    /// The id of the account.
    pub id: UserId,
    /// The user's name.
    pub username: Username,
    /// The user's email address.
    pub email: Email,
    /// The name that is shown beside the username.
    pub display_name: Option<DisplayName>,
    /// The user's description of themselves.
    pub biography: Option<Biography>,
    /// The user's picture.
    pub profile_picture: Option<ProfilePicture>,
}

/// A user as comments and follow lists show them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UserSummary {
    /// The id of the account.
    pub id: UserId,
    /// The user's name.
    pub username: Username,
    /// The user's email address.
    pub email: Email,
}

/// A user as shown beside what they did, to everybody who may see that: without an email address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UserPreview {
    /// The id of the account.
    pub id: UserId,
    /// The user's name.
    pub username: Username,
    /// The name that is shown beside the username.
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
    /// The entry for the audit log, if the registration is an administrative act.
    pub entry: Option<AuditEntry>,
}

/// The part of a stored account that a login is checked against.
#[derive(Debug, Clone)]
pub struct Credentials {
    /// The account.
    pub user: UserId,
    /// The hash of its password.
    pub password: PasswordHash,
    /// Whether it may log in.
    pub enabled: bool,
}

/// A login. The tokens issued for it carry its id.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Session {
    /// The id of the session.
    pub id: SessionId,
    /// The account that logged in.
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

/// How long a token is valid.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TokenLifetime {
    millis: i64,
}

impl TokenLifetime {
    /// Returns the lifetime of this many milliseconds.
    pub const fn of_millis(millis: i64) -> Self {
        Self { millis }
    }

    /// Returns the instant at which a session was opened that has just ended by itself at `now`: its token was renewed at the last
    /// moment, and has expired.
    pub const fn oldest_session(self, now: Timestamp) -> Timestamp {
        now.plus_millis(-Session::RENEWABLE_MILLIS).plus_millis(-self.millis)
    }
}

text_types! {
    /// The user agent of the client with which a user logs in: up to 200 characters, without control characters.
    UserAgent(200);
}

impl UserAgent {
    /// Creates a user agent from what a client sent, without control characters and cut to the maximum length; `None` if
    /// nothing is left.
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
    /// When it was last used, rounded down to the hour.
    pub last_seen_at: Timestamp,
    /// The user agent of the client that logged in.
    pub user_agent: Option<UserAgent>,
}

/// A session with the state that decides whether its requests are accepted.
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
    /// When it was last used, rounded down to the hour.
    pub last_seen_at: Timestamp,
}

impl SessionState {
    const HOUR_MILLIS: i64 = 60 * 60 * 1000;

    /// Returns the hour of `now`, to be recorded as the time of the last use, if it is later than the recorded one.
    pub const fn hour_to_record(&self, now: Timestamp) -> Option<Timestamp> {
        let hour = now.unix_millis().div_euclid(Self::HOUR_MILLIS) * Self::HOUR_MILLIS;
        if hour > self.last_seen_at.unix_millis() { Some(Timestamp::from_unix_millis(hour)) } else { None }
    }
}

/// The sender of a request with a valid token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Caller {
    /// The id of the account.
    pub user: UserId,
    /// The session of the token.
    pub session: Session,
    /// The roles of the account.
    pub roles: Roles,
}

impl Caller {
    /// Returns the caller of a session; `None` when it was revoked or its account disabled.
    pub fn of(state: SessionState) -> Option<Self> {
        let SessionState { session, revoked, enabled, roles, .. } = state;
        (enabled && !revoked).then_some(Self { user: session.user, session, roles })
    }

    /// Returns the caller as a member, with USER or ADMIN. Every use case needs one, except reading the own account, sessions,
    /// export, logout and deletion.
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
    /// Returns the id of the account.
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

    /// Returns the caller as the viewer of a read.
    pub fn viewer(&self) -> Viewer {
        Viewer { id: self.id(), sees_all: self.is_admin() }
    }
}

/// The account for which something is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Viewer {
    /// The id of the account.
    pub id: UserId,
    /// Whether it is an administrator, who sees disabled accounts, and everybody regardless of blocks (`contract`: Safety).
    pub sees_all: bool,
}

impl Viewer {
    /// Returns a viewer who is no administrator.
    pub const fn ordinary(id: UserId) -> Self {
        Self { id, sees_all: false }
    }
}

/// A caller with ADMIN.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Admin(Caller);

impl Admin {
    /// Returns the id of the account.
    pub const fn id(&self) -> UserId {
        self.0.user
    }

    /// Returns the session of the token.
    pub const fn session(&self) -> Session {
        self.0.session
    }

    /// Returns the administrator as the viewer of a read.
    pub const fn viewer(&self) -> Viewer {
        Viewer { id: self.id(), sees_all: true }
    }
}

string_enum! {
    /// Whether a role is added or removed.
    RoleAction "Action must be ADD or REMOVE" {
        /// Add the role; nothing happens when the account has it.
        Add = "ADD",
        /// Remove the role; nothing happens when the account lacks it.
        Remove = "REMOVE",
    }
}

/// A change of an account's roles.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RoleChange {
    /// The role.
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
    /// The user's description of themselves.
    pub biography: Option<Biography>,
}

/// A login attempt.
#[derive(Debug, Clone)]
pub struct Login {
    /// The username or email address given.
    pub identifier: LoginIdentifier,
    /// The password given.
    pub password: PasswordAttempt,
    /// The user agent of the client.
    pub user_agent: Option<UserAgent>,
}

/// The fields of a profile that a client sent. Fields that are `None` were not sent.
#[derive(Debug, Clone, Default)]
pub struct ProfileFields {
    /// The display name; `Some(None)` removes it.
    pub display_name: Option<Option<DisplayName>>,
    /// The biography; `Some(None)` removes it.
    pub biography: Option<Option<Biography>>,
    /// The change of the privacy settings.
    pub privacy: PrivacyChanges,
    /// The file of the new picture.
    pub picture: Option<bytes::Bytes>,
    /// Whether the picture is removed, unless a new one is sent.
    pub remove_picture: bool,
    /// The violations found while parsing, to be reported together with those that the use case finds.
    pub errors: FieldErrors,
}

/// A change of a user's own profile. Fields that are `None` stay as they are.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ProfileChanges {
    /// The new display name; `Some(None)` removes it.
    pub display_name: Option<Option<DisplayName>>,
    /// The new biography; `Some(None)` removes it.
    pub biography: Option<Option<Biography>>,
    /// The change of the privacy settings.
    pub privacy: PrivacyChanges,
    /// The new picture; `Some(None)` removes it.
    pub profile_picture: Option<Option<ProfilePicture>>,
}
