//! What storage says when it fails, fit for the log.

use std::error::Error;

/// A failure of storage, in words. An S3 server explains itself in XML that can repeat what it was sent, a session token
/// for instance: only its code and message are kept.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct Failure(String);

impl From<object_store::Error> for Failure {
    fn from(error: object_store::Error) -> Self {
        let mut text = error.to_string();
        // Each cause is repeated by what it causes, but for the first, which says most.
        let mut first: &dyn Error = &error;
        while let Some(cause) = first.source() {
            first = cause;
        }
        let first = first.to_string();
        if !text.contains(&first) {
            text = format!("{text}: {first}");
        }
        Self(without_document(&text))
    }
}

/// The text, its first XML or HTML document replaced by what it says in its code and message.
fn without_document(text: &str) -> String {
    let Some((before, document)) = text.split_once('<') else { return text.to_owned() };
    let element = |name: &str| {
        let (_, rest) = document.split_once(&format!("{name}>"))?;
        Some(rest.split_once("</")?.0)
    };
    let said: Vec<_> = ["Code", "Message"].into_iter().filter_map(element).collect();
    format!("{before}{}", said.join(": "))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn failure(source: &str) -> String {
        Failure::from(object_store::Error::Generic { store: "S3", source: source.into() }).to_string()
    }

    #[test]
    fn of_a_document_only_code_and_message_are_kept() {
        let document = "403 Forbidden: <?xml version=\"1.0\"?><Error><Code>ExpiredToken</Code>\
            <Message>The provided token has expired.</Message><Token-0>hunter2</Token-0></Error>";
        assert_eq!(failure(document), "Generic S3 error: 403 Forbidden: ExpiredToken: The provided token has expired.");
        assert_eq!(failure("502: <html><body>hunter2</body></html>"), "Generic S3 error: 502: ");
        assert_eq!(failure("connection refused"), "Generic S3 error: connection refused");
    }
}
