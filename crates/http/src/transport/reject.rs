//! Answers to what never becomes a request.

use std::io;
use std::time::{Duration, UNIX_EPOCH};

use actix_web::http::header::HttpDate;
use actix_web::rt::net::TcpStream;
use actix_web::rt::time::timeout;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::core::{ApiError, Services, security_headers};

/// How long a connection that is one too many may take to end.
const REJECTION_TIMEOUT: Duration = Duration::from_secs(1);

/// Answers a connection that is one too many, and closes it.
pub(crate) async fn turn_away(mut tcp: TcpStream, services: &Services) {
    let rejection = async {
        tcp.write_all(&answer(&ApiError::Busy, services)).await?;
        tcp.shutdown().await?;
        // Closed before what came was read, the answer might not reach the client.
        let mut thrown = [0; 1024];
        while tcp.read(&mut thrown).await? > 0 {}
        Ok::<_, io::Error>(())
    };
    let _ = timeout(REJECTION_TIMEOUT, rejection).await;
}

/// Returns the whole answer, after which the connection is closed.
pub(crate) fn answer(error: &ApiError, services: &Services) -> Vec<u8> {
    let (status, id) = (error.status(), services.ids.generate().simple());
    tracing::debug!(request_id = %id, status = status.as_u16(), "{error}");
    let now = u64::try_from(services.limits.clock.now().unix_seconds()).unwrap_or_default();
    let date = HttpDate::from(UNIX_EPOCH + Duration::from_secs(now));
    // Fails for no failure: it is made of texts and numbers.
    let body = serde_json::to_string(&error.body()).unwrap_or_default();
    let mut answer = format!(
        "HTTP/1.1 {status}\r\ncontent-length: {}\r\ncontent-type: application/json\r\nconnection: close\r\n\
         x-request-id: {id}\r\ndate: {date}\r\n",
        body.len()
    );
    let usual = security_headers::HEADERS;
    let usual = usual.iter().filter_map(|(name, value)| Some((name.as_str(), value.to_str().ok()?)));
    let more = error.header();
    for (name, value) in usual.chain(more.iter().map(|(name, value)| (name.as_str(), value.as_str()))) {
        answer.extend([name, ": ", value, "\r\n"]);
    }
    answer.push_str("\r\n");
    answer.push_str(&body);
    answer.into_bytes()
}
