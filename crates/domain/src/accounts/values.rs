//! The value types of accounts. A value is valid once it exists; `parse` holds its rule.

use std::fmt;

use email_address::{EmailAddress, Options};

use crate::error::ViolationKind::{InvalidFormat, Required, TooLong, TooShort};
use crate::error::{Result, Violation};
use crate::string_enum::string_enum;
use crate::text;
use crate::text::text_types;

text_types! {
    /// A name chosen by a user: 1 to 50 characters after trimming, no control characters, no `@` (so that it is never
    /// taken for an email address), and no blank before or after its visible characters. Unique without regard to letter
    /// case.
    Username(50);
    /// An email address: syntactically valid, at most 254 characters (RFC 5321). Kept as given; unique without regard to
    /// letter case.
    Email(254);
    /// A user's description of themselves: 1 to 1,000 characters after trimming. A blank one counts as none.
    Biography(1000, optional "Biography");
    /// The name shown beside or in place of a username: 1 to 50 characters after trimming, none of which hides text or
    /// changes its direction. Not unique. One without visible characters counts as none.
    DisplayName(50);
}

impl Username {
    /// Parses what a client sent.
    ///
    /// # Errors
    /// The violation, in words for the client.
    pub fn parse(name: &str) -> Result<Self, Violation> {
        let name = text::required("Username", name, Self::MAX_CHARS)?;
        if name.chars().any(char::is_control) {
            return Err(Violation::new(InvalidFormat, "Username must not contain control characters"));
        }
        let is_blank_or_invisible = |c: &char| text::is_blank_or_invisible(*c);
        if name.chars().all(text::is_blank_or_invisible) {
            return Err(Violation::new(Required, "Username is required"));
        }
        let leading = name.chars().take_while(is_blank_or_invisible);
        let mut edges = leading.chain(name.chars().rev().take_while(is_blank_or_invisible));
        // Invisible characters do not make names differ, but a blank does, and nobody sees it there.
        if edges.any(text::is_blank) {
            return Err(Violation::new(InvalidFormat, "Username must not begin or end with a blank"));
        }
        // Folding turns look-alikes such as the full-width sign into `@` itself.
        if text::fold(&name).contains('@') {
            return Err(Violation::new(InvalidFormat, "Username must not contain @"));
        }
        Ok(Self(name))
    }

    /// Returns the form in which usernames are unique: equal for names that differ in letter case only.
    pub fn key(&self) -> String {
        text::fold(&self.0)
    }
}

impl Email {
    /// Parses what a client sent.
    ///
    /// # Errors
    /// The violation, in words for the client.
    pub fn parse(address: &str) -> Result<Self, Violation> {
        let address = text::required("Email", address, Self::MAX_CHARS)?;
        let bare = Options::default().without_display_text().without_domain_literal();
        if address.chars().any(char::is_control) || EmailAddress::parse_with_options(&address, bare).is_err() {
            return Err(Violation::new(InvalidFormat, "Email must be a valid email address"));
        }
        Ok(Self(address))
    }

    /// Returns the form in which addresses are unique: equal for addresses that differ in letter case only.
    pub fn key(&self) -> String {
        text::fold(&self.0)
    }
}

/// A password that a user has chosen: 8 to 72 bytes, the most that bcrypt uses. `Debug` does not show it.
#[derive(Clone, PartialEq, Eq)]
pub struct Password(String);

impl Password {
    /// The minimum length, in bytes.
    pub const MIN_BYTES: usize = 8;
    /// The maximum length, in bytes: bcrypt ignores further ones.
    pub const MAX_BYTES: usize = 72;

    /// Parses what a client sent. A password is not trimmed.
    ///
    /// # Errors
    /// The violation, in words for the client.
    pub fn parse(password: &str) -> Result<Self, Violation> {
        if password.trim().is_empty() {
            return Err(Violation::new(Required, "Password is required"));
        }
        if password.contains('\0') {
            return Err(Violation::new(InvalidFormat, "Password must not contain a NUL character"));
        }
        if !(Self::MIN_BYTES..=Self::MAX_BYTES).contains(&password.len()) {
            let kind = if password.len() < Self::MIN_BYTES { TooShort } else { TooLong };
            return Err(Violation::new(
                kind,
                format!("Password must be {} to {} bytes", Self::MIN_BYTES, Self::MAX_BYTES),
            ));
        }
        Ok(Self(password.to_owned()))
    }

    /// Returns the password itself, for hashing.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Password {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Password(..)")
    }
}

/// A password that is to be verified: any text, since only the stored hash decides whether it is right. `Debug` does
/// not show it.
#[derive(Clone, PartialEq, Eq)]
pub struct PasswordAttempt(String);

impl PasswordAttempt {
    /// Parses what a client sent: any text that is not blank.
    ///
    /// # Errors
    /// The violation, in words for the client.
    pub fn parse(password: &str) -> Result<Self, Violation> {
        if password.trim().is_empty() {
            Err(Violation::new(Required, "Password is required"))
        } else {
            Ok(Self(password.to_owned()))
        }
    }

    /// Returns the attempt itself, for comparing with a hash.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for PasswordAttempt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("PasswordAttempt(..)")
    }
}

/// The hash of a password, in the hasher's own notation. `Debug` does not show it.
#[derive(Clone, PartialEq, Eq)]
pub struct PasswordHash(String);

impl PasswordHash {
    /// Creates a hash from the hasher's notation.
    pub fn new(hash: String) -> Self {
        Self(hash)
    }

    /// Returns the hasher's notation.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for PasswordHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("PasswordHash(..)")
    }
}

impl DisplayName {
    /// Parses what a client sent; `None` if no character is visible.
    ///
    /// # Errors
    /// The violation, in words for the client.
    pub fn parse(name: &str) -> Result<Option<Self>, Violation> {
        let name = text::trimmed("Display name", name, Self::MAX_CHARS)?;
        if name.chars().any(Self::is_forbidden) {
            let message = "Display name must not contain control characters or invisible characters";
            return Err(Violation::new(InvalidFormat, message));
        }
        let is_visible = !name.chars().all(text::is_blank_or_invisible);
        Ok(is_visible.then_some(Self(name)))
    }

    /// Returns whether a character is forbidden in display names. Joiners and variation selectors are not: some scripts and
    /// emoji need them.
    fn is_forbidden(c: char) -> bool {
        match c {
            '\u{200c}' | '\u{200d}' | '\u{fe00}'..='\u{fe0f}' | '\u{e0100}'..='\u{e01ef}' => false,
            // Separators of lines and paragraphs.
            '\u{2028}' | '\u{2029}' => true,
            _ => c.is_control() || text::is_invisible(c),
        }
    }
}

/// The username or email address that identifies an account at login.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum LoginIdentifier {
    /// The unique form of a username.
    Username(String),
    /// The unique form of an email address.
    Email(String),
}

impl LoginIdentifier {
    /// Parses an identifier: with an `@` it is an email address, otherwise a username, since no username contains one. An
    /// identifier of more than [`Email::MAX_CHARS`] characters belongs to no account; its key is empty.
    ///
    /// # Errors
    /// The violation, in words for the client, for a blank text.
    pub fn parse(identifier: &str) -> Result<Self, Violation> {
        let identifier = identifier.trim();
        if identifier.is_empty() {
            return Err(Violation::new(Required, "Identifier is required"));
        }
        if identifier.contains('\0') {
            return Err(Violation::new(InvalidFormat, "Identifier must not contain a NUL character"));
        }
        let is_too_long = identifier.chars().nth(Email::MAX_CHARS).is_some();
        let key = if is_too_long { String::new() } else { text::fold(identifier) };
        Ok(if identifier.contains('@') { Self::Email(key) } else { Self::Username(key) })
    }

    /// Returns the unique form.
    pub fn key(&self) -> &str {
        let (Self::Username(key) | Self::Email(key)) = self;
        key
    }
}

string_enum! {
    /// A permission level of an account. Roles are listed in this order.
    Role "Role must be ADMIN or USER" {
        /// Access to all resources and actions.
        Admin = "ADMIN",
        /// Access to the user's own resources.
        User = "USER",
    }
}

/// A set of roles.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Roles {
    admin: bool,
    user: bool,
}

impl Roles {
    /// No role.
    pub const NONE: Self = Self { admin: false, user: false };
    /// The roles of a newly registered account.
    pub const USER: Self = Self { admin: false, user: true };
    /// The roles of the first administrator.
    pub const ADMIN_AND_USER: Self = Self { admin: true, user: true };

    /// Returns whether the role is in the set.
    pub const fn contains(self, role: Role) -> bool {
        match role {
            Role::Admin => self.admin,
            Role::User => self.user,
        }
    }

    /// Returns the set with the role added or removed.
    #[must_use]
    pub const fn with(mut self, role: Role, present: bool) -> Self {
        match role {
            Role::Admin => self.admin = present,
            Role::User => self.user = present,
        }
        self
    }

    /// Returns whether there is no role.
    pub const fn is_empty(self) -> bool {
        !self.admin && !self.user
    }

    /// Returns the roles, ADMIN first.
    pub fn iter(self) -> impl Iterator<Item = Role> {
        Role::ALL.into_iter().filter(move |role| self.contains(*role))
    }
}
