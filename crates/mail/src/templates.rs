//! The texts of mails.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use agora_domain::mail::{MailKind, OutgoingMail};
use thiserror::Error;

/// Returns the file name of a kind of mail, and the built-in text that is used when the operator has no such file.
const fn built_in(kind: MailKind) -> (&'static str, &'static str) {
    match kind {
        MailKind::PasswordReset => ("password-reset.txt", include_str!("../templates/password-reset.txt")),
        MailKind::EmailVerification => ("email-verification.txt", include_str!("../templates/email-verification.txt")),
        MailKind::EmailChange => ("email-change.txt", include_str!("../templates/email-change.txt")),
        MailKind::EmailChanged => ("email-changed.txt", include_str!("../templates/email-changed.txt")),
    }
}

const USERNAME: &str = "username";
const TOKEN: &str = "token";

/// The most bytes of a template file: a mail has only a few lines.
const MAX_FILE_BYTES: u64 = 64 * 1024;

/// Why the templates cannot be loaded.
#[derive(Debug, Error)]
pub enum TemplateError {
    /// The directory does not exist.
    #[error("the directory {0} does not exist")]
    NoDirectory(PathBuf),
    /// A file cannot be read.
    #[error("cannot read {0}: {1}")]
    Unreadable(PathBuf, std::io::Error),
    /// A file is not a valid template.
    #[error("{0}: {1}")]
    Unusable(PathBuf, String),
}

/// The templates of all mails. Each is a line `Subject: ...`, an empty line, and the text, in which `{username}` and `{token}`
/// are placeholders.
#[derive(Debug, Clone)]
pub struct Templates([(MailKind, Template); MailKind::ALL.len()]);

/// The template of one kind of mail.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Template {
    subject: String,
    body: String,
}

/// The text of one mail.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Rendered {
    pub(crate) subject: String,
    pub(crate) body: String,
}

impl Templates {
    /// Loads the templates of a directory. Kinds without a file there get the built-in one, as do all without a directory.
    ///
    /// # Errors
    /// [`TemplateError`].
    pub fn load(directory: Option<&Path>) -> Result<Self, TemplateError> {
        if let Some(directory) = directory.filter(|directory| !directory.is_dir()) {
            return Err(TemplateError::NoDirectory(directory.to_owned()));
        }
        let mut templates = Vec::new();
        for kind in MailKind::ALL {
            let (name, text) = built_in(kind);
            let own = directory.map(|directory| directory.join(name));
            let own = own.map(|path| read(&path).map(|text| text.map(|text| (path, text)))).transpose()?.flatten();
            let (path, text) = own.unwrap_or_else(|| (PathBuf::from(name), text.to_owned()));
            let parsed = Template::parse(kind, &text);
            templates.push((kind, parsed.map_err(|problem| TemplateError::Unusable(path, problem))?));
        }
        // Always succeeds: one template of each kind was pushed.
        let all = <[_; MailKind::ALL.len()]>::try_from(templates);
        all.map(Self).map_err(|_| TemplateError::Unusable(PathBuf::new(), "a template is missing".to_owned()))
    }

    /// Returns the text of a mail.
    pub(crate) fn render(&self, mail: &OutgoingMail) -> Option<Rendered> {
        let (_, template) = self.0.iter().find(|(kind, _)| *kind == mail.kind)?;
        let token = mail.token.as_ref().map_or("", |token| token.expose());
        let fill = |text| filled(text, |name| if name == USERNAME { mail.username.as_str() } else { token });
        Some(Rendered { subject: fill(&template.subject), body: fill(&template.body) })
    }
}

/// Returns the text of a file; `None` if it does not exist.
fn read(path: &Path) -> Result<Option<String>, TemplateError> {
    let unreadable = |error| TemplateError::Unreadable(path.to_owned(), error);
    match fs::metadata(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(unreadable(error)),
        Ok(file) if file.len() > MAX_FILE_BYTES => {
            Err(TemplateError::Unusable(path.to_owned(), format!("the file is larger than {MAX_FILE_BYTES} bytes")))
        }
        Ok(_) => fs::read_to_string(path).map(Some).map_err(unreadable),
    }
}

impl Template {
    fn parse(kind: MailKind, text: &str) -> Result<Self, String> {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text).replace("\r\n", "\n");
        let (head, body) =
            text.split_once("\n\n").ok_or("the file must begin with a line `Subject: ...` and an empty line")?;
        let subject = head.strip_prefix("Subject:").map(str::trim).filter(|subject| !subject.is_empty());
        let subject = subject.filter(|subject| !subject.contains('\n'));
        let subject = subject.ok_or("the first line must be `Subject:` and a text, and the second line empty")?;
        if names(subject).any(|name| name != USERNAME) {
            return Err("the only placeholder allowed in the subject is {username}".to_owned());
        }
        let has_token = kind.token_millis().is_some();
        if let Some(name) = names(body).find(|name| *name != USERNAME && !(has_token && *name == TOKEN)) {
            return Err(format!("the placeholder {{{name}}} is not available in this mail"));
        }
        if has_token && !names(body).any(|name| name == TOKEN) {
            return Err("the placeholder {token} is missing".to_owned());
        }
        Ok(Self { subject: subject.to_owned(), body: body.to_owned() })
    }
}

/// Returns the text before the first placeholder, the name of the placeholder, and the text after it.
fn split(text: &str) -> Option<(&str, &str, &str)> {
    let mut from = 0;
    while let Some(at) = text.get(from..)?.find('{') {
        let name_start = from + at + 1;
        let rest = text.get(name_start..)?;
        let length = rest.bytes().take_while(u8::is_ascii_alphabetic).count();
        if length > 0 && rest[length..].starts_with('}') {
            return Some((&text[..name_start - 1], &rest[..length], &rest[length + 1..]));
        }
        from = name_start;
    }
    None
}

/// Returns the names of the placeholders.
fn names(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let (_, name, after) = split(rest)?;
        rest = after;
        Some(name)
    })
}

/// Returns the text with the placeholders replaced by their values. Placeholders within a value are not replaced.
fn filled<'a>(text: &'a str, value: impl Fn(&str) -> &'a str) -> String {
    let (mut filled, mut rest) = (String::with_capacity(text.len()), text);
    while let Some((before, name, after)) = split(rest) {
        filled.push_str(before);
        filled.push_str(value(name));
        rest = after;
    }
    filled + rest
}

#[cfg(test)]
mod tests {
    use agora_domain::accounts::{Email, Username};
    use agora_domain::id::MailId;
    use agora_domain::mail::MailToken;
    use uuid::Uuid;

    use super::*;

    fn mail(kind: MailKind, username: &str) -> OutgoingMail {
        OutgoingMail {
            id: MailId::new(Uuid::nil()),
            kind,
            address: Email::parse("ada@example.org").unwrap(),
            username: Username::parse(username).unwrap(),
            token: kind.token_millis().map(|_| MailToken::new("s3cret".to_owned())),
        }
    }

    #[test]
    fn every_kind_has_a_built_in_template_with_its_token() {
        let templates = Templates::load(None).unwrap();
        for kind in MailKind::ALL {
            let Rendered { subject, body } = templates.render(&mail(kind, "Ada")).unwrap();
            assert_eq!(body.contains("s3cret"), kind.token_millis().is_some(), "{body}");
            assert!(!subject.is_empty() && !subject.contains("s3cret") && !body.contains('{'), "{subject}: {body}");
        }
    }

    #[test]
    fn built_in_templates_do_not_contain_the_username_since_any_address_may_be_of_somebody_else() {
        let templates = Templates::load(None).unwrap();
        for kind in MailKind::ALL {
            let Rendered { subject, body } = templates.render(&mail(kind, "win at casino.example")).unwrap();
            assert!(!format!("{subject}{body}").contains("casino"), "{body}");
        }
    }

    #[test]
    fn the_operator_can_replace_single_templates() {
        let directory = tempfile::tempdir().unwrap();
        let text = "Subject: {username}, your code\r\n\r\nhttps://app.example.org/reset?token={token}\r\n{ } {1} {username}\r\n";
        fs::write(directory.path().join("password-reset.txt"), text).unwrap();
        let templates = Templates::load(Some(directory.path())).unwrap();
        let reset = templates.render(&mail(MailKind::PasswordReset, "{token}")).unwrap();
        assert_eq!(reset.subject, "{token}, your code");
        assert_eq!(reset.body, "https://app.example.org/reset?token=s3cret\n{ } {1} {token}\n");
        let other = templates.render(&mail(MailKind::EmailVerification, "Ada"));
        assert_eq!(other, Templates::load(None).unwrap().render(&mail(MailKind::EmailVerification, "Ada")));
    }

    #[test]
    fn invalid_templates_are_rejected() {
        for (kind, text, words) in [
            (MailKind::PasswordReset, "", "Subject:"),
            (MailKind::PasswordReset, "Subject: x\n{token}", "Subject:"),
            (MailKind::PasswordReset, "Subject:\n\n{token}", "first line"),
            (MailKind::PasswordReset, "Subject: x\nBcc: all@example.org\n\n{token}", "first line"),
            (MailKind::PasswordReset, "Hello\n\n{token}", "first line"),
            (MailKind::PasswordReset, "Subject: x\n\nhello", "{token}"),
            (MailKind::PasswordReset, "Subject: {token}\n\n{token}", "subject"),
            (MailKind::PasswordReset, "Subject: x\n\n{token} {name}", "{name}"),
            (MailKind::EmailChanged, "Subject: x\n\n{token}", "{token}"),
        ] {
            let problem = Template::parse(kind, text).unwrap_err();
            assert!(problem.contains(words), "{text:?}: {problem}");
        }
        let directory = tempfile::tempdir().unwrap();
        assert!(matches!(Templates::load(Some(&directory.path().join("gone"))), Err(TemplateError::NoDirectory(_))));
        fs::write(directory.path().join("email-change.txt"), "x".repeat(70_000)).unwrap();
        assert!(matches!(Templates::load(Some(directory.path())), Err(TemplateError::Unusable(..))));
        fs::write(directory.path().join("email-change.txt"), [0xff, 0xfe]).unwrap();
        assert!(matches!(Templates::load(Some(directory.path())), Err(TemplateError::Unreadable(..))));
    }
}
