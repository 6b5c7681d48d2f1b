//! Errors of storage, sanitized for the log.

use std::error::Error;
use std::io;
use std::iter::successors;

use object_store::client::{HttpError, HttpErrorKind};
use serde::Deserialize;

/// The maximum length of the text of a failure, in characters.
const MAX_TEXT_CHARS: usize = 300;

/// The maximum length of a response body that is parsed, in bytes. The errors of S3 have some two thousand, including all that
/// they repeat of the request.
const MAX_RESPONSE_BYTES: usize = 16 << 10;

/// The maximum lengths of an error code, of a message, and of a word of a message, in bytes. Anything longer is not an
/// explanation of an error.
const MAX_CODE_BYTES: usize = 64;
const MAX_MESSAGE_BYTES: usize = 200;
const MAX_WORD_BYTES: usize = 60;

/// A description of a storage error, on one line.
///
/// The response of a server may repeat what it was sent, such as a session token, and need not be from S3 at all. Of a
/// response, the description therefore includes only the status, and the code and message of an error in the format of S3.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct Failure(String);

impl From<object_store::Error> for Failure {
    fn from(error: object_store::Error) -> Self {
        Self(escape_to_one_line(&describe(&error)))
    }
}

fn describe(error: &object_store::Error) -> String {
    let text = error.to_string();
    let causes = causes(error);
    // The root cause says most. The texts of the errors above it mostly end with its text.
    let (root, of_system) = causes.last().map_or_else(Default::default, |it| (it.to_string(), it.is::<io::Error>()));
    let before = text.strip_suffix(&root).unwrap_or(&text);
    let request = before.rsplit_once("Error performing ").and_then(|(_, request)| request.split(' ').next());
    let request = request.filter(|method| method.bytes().all(|b| b.is_ascii_uppercase())).unwrap_or("the request");
    if let Some((status, body)) = split_response(&root) {
        let mut clauses = vec![format!("{request} returned {status}")];
        clauses.extend(parse_s3_error(body));
        return clauses.join(": ");
    }
    match causes.iter().find_map(|error| error.downcast_ref::<HttpError>()) {
        // The text of the error may repeat what could not be decoded.
        Some(error) if error.kind() == HttpErrorKind::Decode => format!("{request} returned an unreadable response"),
        Some(error) => format!("{request} failed: {}", with_root_cause(&error.to_string(), &root)),
        None if of_system => with_root_cause(&text, &root),
        None => without_details(error, &text),
    }
}

/// Returns the chain of causes of an error, the root cause last.
fn causes(error: &object_store::Error) -> Vec<&(dyn Error + 'static)> {
    successors(error.source(), |&error| error.source()).collect()
}

/// Extracts the status and the body of an unsuccessful response from the text of an error of `object_store`.
fn split_response(root: &str) -> Option<(&str, &str)> {
    let with_status = || root.strip_prefix("Server returned non-2xx status code: ")?.split_once(": ");
    let without = || Some(("an error", root.strip_prefix("Server returned error response: ")?));
    with_status().or_else(without)
}

/// An error in the format of S3.
#[derive(Deserialize)]
#[serde(rename = "Error", rename_all = "PascalCase")]
struct S3Error {
    code: String,
    #[serde(default)]
    message: String,
}

/// Returns the code and message of a response body, as far as they look like ones.
fn parse_s3_error(body: &str) -> Vec<String> {
    let parsed = (body.len() <= MAX_RESPONSE_BYTES).then(|| quick_xml::de::from_str::<S3Error>(body));
    let Some(Ok(S3Error { code, message })) = parsed else { return Vec::new() };
    let is_word = (1..=MAX_CODE_BYTES).contains(&code.len()) && code.bytes().all(|b| b.is_ascii_alphanumeric());
    let is_message = (1..=MAX_MESSAGE_BYTES).contains(&message.len())
        && message.split_whitespace().all(|word| word.len() <= MAX_WORD_BYTES);
    [(is_word, code), (is_word && is_message, message)]
        .into_iter()
        .filter_map(|(is, text)| is.then_some(text))
        .collect()
}

/// Appends the root cause to a text, unless the text contains it already.
fn with_root_cause(text: &str, root: &str) -> String {
    if text.contains(root) { text.to_owned() } else { format!("{text}: {root}") }
}

/// Returns what failed without the reason, since the details of a response that could not be parsed may be anything.
fn without_details(error: &object_store::Error, text: &str) -> String {
    let clauses = if matches!(error, object_store::Error::Generic { .. }) { 2 } else { 1 };
    let clauses: Vec<_> = text.split(": ").take(clauses).collect();
    clauses.join(": ").split(['\'', '"', '`', '<']).next().unwrap_or_default().trim_end().to_owned()
}

/// Escapes line breaks and whatever a terminal may interpret, and truncates the text to [`MAX_TEXT_CHARS`].
fn escape_to_one_line(text: &str) -> String {
    let mut line = String::new();
    let mut room = MAX_TEXT_CHARS;
    for c in text.chars() {
        let shown = if matches!(c, '\\' | '"' | '\'') { c.to_string() } else { c.escape_debug().to_string() };
        let Some(left) = room.checked_sub(shown.chars().count()) else {
            line.push('…');
            break;
        };
        room = left;
        line.push_str(&shown);
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    fn failure(source: &str) -> String {
        Failure::from(object_store::Error::Generic { store: "S3", source: source.into() }).to_string()
    }

    /// Returns the failure that a response with this body makes.
    fn failure_of_response(body: &str) -> String {
        failure(&format!("Server returned non-2xx status code: 403 Forbidden: {body}"))
    }

    const STATUS_ONLY: &str = "the request returned 403 Forbidden";

    #[test]
    fn only_code_and_message_of_an_s3_error_are_kept() {
        let document = "<?xml version=\"1.0\"?><Error><Code>ExpiredToken</Code>\
            <Message>The provided token has expired &amp; so on.</Message><Token-0>hunter2</Token-0></Error>";
        assert_eq!(
            failure_of_response(document),
            format!("{STATUS_ONLY}: ExpiredToken: The provided token has expired & so on.")
        );
        assert_eq!(failure_of_response("<Error><Code>NoSuchKey</Code></Error>"), format!("{STATUS_ONLY}: NoSuchKey"));
        let (long, word) = ("hunter2 ".repeat(30), "hunter2".repeat(10));
        for message in [&*long, &word] {
            let document = format!("<Error><Code>Odd</Code><Message>{message}</Message></Error>");
            assert_eq!(failure_of_response(&document), format!("{STATUS_ONLY}: Odd"));
        }
        let within = "Server returned error response: <Error><Code>InternalError</Code></Error>";
        assert_eq!(failure(within), "the request returned an error: InternalError");
    }

    #[test]
    fn nothing_of_any_other_response_is_kept() {
        for body in [
            "",
            "hunter2",
            "x-amz-security-token: hunter2",
            "{\"message\": \"hunter2\"}",
            "<html><body>hunter2</body></html>",
            "hunter2 <Error><Code>Odd</Code><Message>hunter2</Message>",
            "<Error><Code>Odd</Code><Message>hunter2</Message>",
            "<Error><Code>hunter2</Message></Error>",
            "<Error><Code>hunter2 and more</Code><Message>hunter2</Message></Error>",
            "<Error><Message>hunter2</Message></Error>",
            &format!("<Error><Code>{}</Code><Message>hunter2</Message></Error>", "x".repeat(MAX_CODE_BYTES + 1)),
            &format!("<Error><Code>Odd</Code><Message>hunter2</Message>{}</Error>", " ".repeat(MAX_RESPONSE_BYTES)),
        ] {
            assert_eq!(failure_of_response(body), STATUS_ONLY, "{body}");
        }
    }

    #[test]
    fn unparsable_data_is_not_repeated() {
        for (source, text) in [
            ("Got invalid list response: unknown variant `hunter2`", "Generic S3 error: Got invalid list response"),
            ("Failed to parse value for \"hunter2\"", "Generic S3 error: Failed to parse value for"),
            ("no answer within 8 s", "Generic S3 error: no answer within 8 s"),
        ] {
            assert_eq!(failure(source), text);
        }
    }

    #[test]
    fn the_text_is_a_single_short_line() {
        let text = failure_of_response(
            "<Error><Code>Odd</Code><Message>one\ntwo \u{1b}[31m \u{202e}\"three\" 'four'</Message></Error>",
        );
        assert_eq!(text, format!("{STATUS_ONLY}: Odd: one\\ntwo \\u{{1b}}[31m \\u{{202e}}\"three\" 'four'"));
        assert_eq!(failure(&"long ".repeat(1000)).chars().count(), MAX_TEXT_CHARS + 1);
        // Each of these takes six characters when escaped.
        let text =
            failure_of_response(&format!("<Error><Code>Odd</Code><Message>{}</Message></Error>", "\u{1b} ".repeat(90)));
        assert!((MAX_TEXT_CHARS - 5..=MAX_TEXT_CHARS + 1).contains(&text.chars().count()), "{text}");
    }

    #[test]
    fn the_cause_of_a_file_system_error_is_kept() {
        let full = || io::Error::from(io::ErrorKind::StorageFull);
        let error = object_store::Error::Generic { store: "LocalFileSystem", source: full().into() };
        assert_eq!(Failure::from(error).to_string(), format!("Generic LocalFileSystem error: {}", full()));
    }
}
