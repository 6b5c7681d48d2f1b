//! Error responses to connections beyond the limit and to input that never becomes a request, which actix-web never sees.

use std::io;
use std::time::{Duration, UNIX_EPOCH};

use actix_web::http::header::HttpDate;
use actix_web::rt::net::TcpStream;
use actix_web::rt::time::timeout;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::core::{ApiError, Services, security_headers};

/// How long a rejected connection may take to read its response and close.
const REJECTION_TIMEOUT: Duration = Duration::from_secs(1);

/// Answers a connection beyond the limit with 503, and closes it.
pub(crate) async fn reject_connection(mut tcp: TcpStream, services: &Services) {
    let rejection = async {
        tcp.write_all(&render(&ApiError::Busy, services)).await?;
        tcp.shutdown().await?;
        // Closing a socket with unread input resets the connection, and the response might not reach the client.
        let mut discarded = [0; 1024];
        while tcp.read(&mut discarded).await? > 0 {}
        Ok::<_, io::Error>(())
    };
    let _ = timeout(REJECTION_TIMEOUT, rejection).await;
}

/// Renders the whole response, after which the connection is closed.
pub(crate) fn render(error: &ApiError, services: &Services) -> Vec<u8> {
    let (status, id) = (error.status(), services.ids.generate().simple());
    tracing::debug!(request_id = %id, status = status.as_u16(), "{error}");
    let now = u64::try_from(services.limits.clock.now().unix_seconds()).unwrap_or_default();
    let date = HttpDate::from(UNIX_EPOCH + Duration::from_secs(now));
    // It cannot fail: the body has only strings and numbers.
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
