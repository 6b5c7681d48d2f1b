//! Answers as they stand on the wire: no byte between them or behind the last.

use reqwest::Version;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use super::raw::Raw;
use crate::client::{HANG, Response};

impl Response {
    /// Whether it says that the connection ends with it.
    pub(crate) fn closes(&self) -> bool {
        self.header("connection") == Some("close")
    }

    /// Checks that it has this status and what every answer has; a failure has the form that every failure has.
    #[track_caller]
    pub(crate) fn verify(&self, status: u16) -> &Self {
        assert_eq!((self.version, self.status), (Version::HTTP_11, status), "{self:?}");
        for usual in ["date", "x-request-id", "x-content-type-options", "content-security-policy", "referrer-policy"] {
            assert!(self.header(usual).is_some(), "{usual} is missing: {self:?}");
        }
        if status >= 400 {
            assert_eq!(self.header("cache-control"), Some("no-store"), "{self:?}");
            self.clone().expect_failure(status);
        }
        self
    }
}

impl Raw {
    /// Sends this in these pieces, then nothing more; what was answered to requests of these methods, which is all that
    /// came. The service closes the connection, and cleanly.
    pub(crate) async fn exchange<'a>(
        address: &str,
        pieces: impl IntoIterator<Item = &'a [u8]>,
        methods: &[&str],
    ) -> Vec<Response> {
        let stream = Self::open(address).await.into_stream();
        let (mut reading, mut writing) = stream.into_split();
        let mut bytes = Vec::new();
        let read = tokio::time::timeout(HANG, reading.read_to_end(&mut bytes));
        let write = async {
            for piece in pieces {
                // Once the service has closed the connection, nothing can be sent.
                if writing.write_all(piece).await.is_err() {
                    return;
                }
                tokio::task::yield_now().await;
            }
            let _ = writing.shutdown().await;
        };
        let (read, ()) = tokio::join!(read, write);
        read.expect("it is never closed").expect("an answer may be lost");
        let answers = methods.iter().map_while(|method| Response::take(&mut bytes, method)).collect();
        assert!(bytes.is_empty(), "more than was asked, or cut short: {:?}", String::from_utf8_lossy(&bytes));
        answers
    }

    /// The only answer to what is sent whole. What stands behind it is none of its business.
    pub(crate) async fn only(address: &str, bytes: &[u8]) -> Response {
        let mut answers = Self::exchange(address, [bytes], &["GET"]).await;
        answers.pop().unwrap_or_else(|| panic!("no answer to {:?}", String::from_utf8_lossy(bytes)))
    }
}
