//! Responses as bytes: nothing between them, and nothing after the last.

use reqwest::Version;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use super::raw::Raw;
use crate::client::{HANG, Response};

impl Response {
    /// Returns whether the response announces that the connection is closed.
    pub(crate) fn closes(&self) -> bool {
        self.header("connection") == Some("close")
    }

    /// Checks the status, the headers of every response, and the body if it is a failure.
    #[track_caller]
    pub(crate) fn verify(&self, status: u16) -> &Self {
        assert_eq!((self.version, self.status), (Version::HTTP_11, status), "{self:?}");
        for name in ["date", "x-request-id", "x-content-type-options", "content-security-policy", "referrer-policy"] {
            assert!(self.header(name).is_some(), "{name} is missing: {self:?}");
        }
        if status >= 400 {
            assert_eq!(self.header("cache-control"), Some("no-store"), "{self:?}");
            self.clone().expect_failure(status);
        }
        self
    }
}

impl Raw {
    /// Sends these pieces, and closes the sending side. Returns the responses to requests with these methods; nothing else may be
    /// received. The service must close the connection without a reset.
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
                // The service may have closed the connection.
                if writing.write_all(piece).await.is_err() {
                    return;
                }
                tokio::task::yield_now().await;
            }
            let _ = writing.shutdown().await;
        };
        let (read, ()) = tokio::join!(read, write);
        read.expect("the connection is closed").expect("a reset may lose a response");
        let answers = methods.iter().map_while(|method| Response::take(&mut bytes, method)).collect();
        assert!(bytes.is_empty(), "an unexpected or incomplete response: {:?}", String::from_utf8_lossy(&bytes));
        answers
    }

    /// Sends these bytes, and returns the only response.
    pub(crate) async fn only(address: &str, bytes: &[u8]) -> Response {
        let mut answers = Self::exchange(address, [bytes], &["GET"]).await;
        answers.pop().unwrap_or_else(|| panic!("no response to {:?}", String::from_utf8_lossy(bytes)))
    }
}
