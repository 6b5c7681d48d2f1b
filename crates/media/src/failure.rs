//! What storage says when it fails, fit for the log.

use std::error::Error;
use std::io;
use std::iter::successors;

use object_store::client::{HttpError, HttpErrorKind};
use serde::Deserialize;

/// The longest text of a failure, in characters.
const LONGEST: usize = 300;

/// The longest answer of a server that is read at all, in bytes. Those of S3 with everything that they repeat of a
/// request have some two thousand.
const LONGEST_ANSWER: usize = 16 << 10;

/// The longest code, message, and word of a message: what is longer is something else than an explanation.
const LONGEST_CODE: usize = 64;
const LONGEST_MESSAGE: usize = 200;
const LONGEST_WORD: usize = 60;

/// A failure of storage, in words, on one line. What a server answers can repeat what it was sent, a session token for
/// instance, and need not be from S3 at all: of an answer, only the status is kept, and the code and message of S3's
/// own form of error.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct Failure(String);

impl From<object_store::Error> for Failure {
    fn from(error: object_store::Error) -> Self {
        Self(on_one_line(&told(&error)))
    }
}

fn told(error: &object_store::Error) -> String {
    let text = error.to_string();
    let causes = causes(error);
    // The first cause says most. The texts of what it caused end with its own, most of the time.
    let (root, of_system) = causes.last().map_or_else(Default::default, |it| (it.to_string(), it.is::<io::Error>()));
    let before = text.strip_suffix(&root).unwrap_or(&text);
    let request = before.rsplit_once("Error performing ").and_then(|(_, request)| request.split(' ').next());
    let request = request.filter(|method| method.bytes().all(|b| b.is_ascii_uppercase())).unwrap_or("the request");
    if let Some((status, answer)) = answer(&root) {
        let mut told = vec![format!("{request} was answered {status}")];
        told.extend(explanation(answer));
        return told.join(": ");
    }
    match causes.iter().find_map(|error| error.downcast_ref::<HttpError>()) {
        // Its text can repeat what could not be read.
        Some(error) if error.kind() == HttpErrorKind::Decode => format!("{request} was answered what cannot be read"),
        Some(error) => format!("{request} failed: {}", with_root(&error.to_string(), &root)),
        None if of_system => with_root(&text, &root),
        None => without_detail(error, &text),
    }
}

/// Returns what the error was caused by, the first cause last.
fn causes(error: &object_store::Error) -> Vec<&(dyn Error + 'static)> {
    successors(error.source(), |&error| error.source()).collect()
}

/// Returns the status and the text of an answer that is no success, out of what `object_store` makes of it.
fn answer(root: &str) -> Option<(&str, &str)> {
    let with_status = || root.strip_prefix("Server returned non-2xx status code: ")?.split_once(": ");
    let without = || Some(("an error", root.strip_prefix("Server returned error response: ")?));
    with_status().or_else(without)
}

/// S3's form of error.
#[derive(Deserialize)]
#[serde(rename = "Error", rename_all = "PascalCase")]
struct Explanation {
    code: String,
    #[serde(default)]
    message: String,
}

/// Returns the code and message of an answer, when they look like that.
fn explanation(answer: &str) -> Vec<String> {
    let parsed = (answer.len() <= LONGEST_ANSWER).then(|| quick_xml::de::from_str::<Explanation>(answer));
    let Some(Ok(Explanation { code, message })) = parsed else { return Vec::new() };
    let is_word = (1..=LONGEST_CODE).contains(&code.len()) && code.bytes().all(|b| b.is_ascii_alphanumeric());
    let is_message = (1..=LONGEST_MESSAGE).contains(&message.len())
        && message.split_whitespace().all(|word| word.len() <= LONGEST_WORD);
    [(is_word, code), (is_word && is_message, message)]
        .into_iter()
        .filter_map(|(is, text)| is.then_some(text))
        .collect()
}

/// Returns a text with the first of its causes, which it may hold already.
fn with_root(text: &str, root: &str) -> String {
    if text.contains(root) { text.to_owned() } else { format!("{text}: {root}") }
}

/// Returns what failed, without why: the details of an answer that made no sense can be anything.
fn without_detail(error: &object_store::Error, text: &str) -> String {
    let clauses = if matches!(error, object_store::Error::Generic { .. }) { 2 } else { 1 };
    let clauses: Vec<_> = text.split(": ").take(clauses).collect();
    clauses.join(": ").split(['\'', '"', '`', '<']).next().unwrap_or_default().trim_end().to_owned()
}

/// Returns the text without anything that a terminal or a reader of lines would take for more than text, cut when it is
/// long.
fn on_one_line(text: &str) -> String {
    let mut line = String::new();
    let mut room = LONGEST;
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

    /// What is told of an answer of the server.
    fn answered(body: &str) -> String {
        failure(&format!("Server returned non-2xx status code: 403 Forbidden: {body}"))
    }

    const NOTHING: &str = "the request was answered 403 Forbidden";

    #[test]
    fn of_an_answer_only_code_and_message_are_kept() {
        let document = "<?xml version=\"1.0\"?><Error><Code>ExpiredToken</Code>\
            <Message>The provided token has expired &amp; so on.</Message><Token-0>hunter2</Token-0></Error>";
        assert_eq!(answered(document), format!("{NOTHING}: ExpiredToken: The provided token has expired & so on."));
        assert_eq!(answered("<Error><Code>NoSuchKey</Code></Error>"), format!("{NOTHING}: NoSuchKey"));
        let (long, word) = ("hunter2 ".repeat(30), "hunter2".repeat(10));
        for message in [&*long, &word] {
            let document = format!("<Error><Code>Odd</Code><Message>{message}</Message></Error>");
            assert_eq!(answered(&document), format!("{NOTHING}: Odd"));
        }
        let within = "Server returned error response: <Error><Code>InternalError</Code></Error>";
        assert_eq!(failure(within), "the request was answered an error: InternalError");
    }

    #[test]
    fn of_any_other_answer_nothing_is_kept() {
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
            &format!("<Error><Code>{}</Code><Message>hunter2</Message></Error>", "x".repeat(LONGEST_CODE + 1)),
            &format!("<Error><Code>Odd</Code><Message>hunter2</Message>{}</Error>", " ".repeat(LONGEST_ANSWER)),
        ] {
            assert_eq!(answered(body), NOTHING, "{body}");
        }
    }

    #[test]
    fn what_cannot_be_understood_is_not_repeated() {
        for (source, told) in [
            ("Got invalid list response: unknown variant `hunter2`", "Generic S3 error: Got invalid list response"),
            ("Failed to parse value for \"hunter2\"", "Generic S3 error: Failed to parse value for"),
            ("no answer within 8 s", "Generic S3 error: no answer within 8 s"),
        ] {
            assert_eq!(failure(source), told);
        }
    }

    #[test]
    fn the_text_is_one_short_line() {
        let told =
            answered("<Error><Code>Odd</Code><Message>one\ntwo \u{1b}[31m \u{202e}\"three\" 'four'</Message></Error>");
        assert_eq!(told, format!("{NOTHING}: Odd: one\\ntwo \\u{{1b}}[31m \\u{{202e}}\"three\" 'four'"));
        assert_eq!(failure(&"long ".repeat(1000)).chars().count(), LONGEST + 1);
        // Each of these takes six characters to be shown.
        let told = answered(&format!("<Error><Code>Odd</Code><Message>{}</Message></Error>", "\u{1b} ".repeat(90)));
        assert!((LONGEST - 5..=LONGEST + 1).contains(&told.chars().count()), "{told}");
    }

    #[test]
    fn the_cause_of_a_failure_of_files_is_kept() {
        let full = || io::Error::from(io::ErrorKind::StorageFull);
        let error = object_store::Error::Generic { store: "LocalFileSystem", source: full().into() };
        assert_eq!(Failure::from(error).to_string(), format!("Generic LocalFileSystem error: {}", full()));
    }
}
