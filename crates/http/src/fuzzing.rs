//! Access for the fuzz targets (`fuzz/`) to parts that are otherwise private: one function for each parser of untrusted
//! input.

use std::net::IpAddr;
use std::pin::Pin;

use actix_web::dev::Payload;
use actix_web::error::PayloadError;
use actix_web::http::header;
use actix_web::http::header::{HeaderName, HeaderValue};
use actix_web::test::TestRequest;
use actix_web::{FromRequest, HttpRequest};
use agora_domain::media::ByteRange;
use agora_domain::page::{Neighbours, Position};
use agora_domain::posts::PostFields;
use agora_domain::version::Versions;
use bytes::Bytes;
use futures_util::{Stream, stream};
use garde::Validate;
use serde::de::DeserializeOwned;

use crate::core::{ApiError, IdempotencySupport, MacKeys, TrustedProxies};
use crate::endpoints::accounts::{LoginRequest, RegisterRequest};
use crate::endpoints::comments::{CommentChange, NewComment};
use crate::endpoints::posts::PostRequest;
use crate::endpoints::products::ProductRequest;
use crate::endpoints::threads::NewThreadedComment;
use crate::endpoints::users::{EnabledChange, PasswordChange, ProfileChange, RoleChangeRequest};
use crate::endpoints::{media, posts};
use crate::middleware::{authorize, compress, idempotency};
use crate::request::{Body, List, Query, cursor, paging, parse_object, preconditions, violations};
use crate::response::{Instant, etag};

/// Parses the body of a request for a post that arrives in these chunks.
///
/// # Errors
/// The status and the message with which the body is rejected.
pub async fn post(content_type: &[u8], body: Vec<Bytes>, max_image_bytes: usize) -> Result<PostFields, (u16, String)> {
    let Some(request) = with_header(header::CONTENT_TYPE, content_type) else { return Ok(PostFields::default()) };
    let pieces: Pin<Box<dyn Stream<Item = _>>> = Box::pin(stream::iter(body.into_iter().map(Ok::<_, PayloadError>)));
    let mut payload = Payload::Stream { payload: pieces };
    let fields = match Body::from_request(&request, &mut payload).await {
        Ok(body) => posts::post_fields(body, max_image_bytes).await,
        Err(error) => Err(error),
    };
    fields.map_err(|error| (error.status().as_u16(), error.to_string()))
}

/// Splits a body at the boundaries of a form of this content type, as the fingerprint of a request under an `Idempotency-Key`
/// does. Returns the parts and the delimiter.
pub fn form_parts<'a>(content_type: &str, body: &'a [u8]) -> (Vec<&'a [u8]>, String) {
    let boundary = idempotency::boundary(content_type);
    let parts = idempotency::parts(boundary, body).collect();
    (parts, boundary.map(|boundary| format!("--{boundary}")).unwrap_or_default())
}

/// Parses a body as each JSON request of the interface. Returns a status for each: 200 if the body is valid.
pub fn json_requests(body: &[u8]) -> Vec<u16> {
    fn read<B: DeserializeOwned, T>(body: &[u8], parse: impl FnOnce(B) -> agora_domain::Result<T>) -> u16 {
        let parsed = parse_object(body).and_then(|body| parse(body).map_err(ApiError::from));
        parsed.map_or_else(|error| error.status().as_u16(), |_| 200)
    }
    fn validate<B: DeserializeOwned + Validate<Context = ()>>(body: &[u8]) -> u16 {
        read(body, |body: B| violations(&body)?.into_result())
    }
    vec![
        validate::<RegisterRequest>(body),
        validate::<LoginRequest>(body),
        validate::<NewComment>(body),
        validate::<NewThreadedComment>(body),
        validate::<CommentChange>(body),
        read(body, |product: ProductRequest| {
            let (edit, errors) = product.into_parts()?;
            Ok(edit.into_new(errors)?)
        }),
        validate::<ProductRequest>(body),
        validate::<PostRequest>(body),
        validate::<ProfileChange>(body),
        validate::<PasswordChange>(body),
        validate::<RoleChangeRequest>(body),
        validate::<EnabledChange>(body),
    ]
}

/// Returns the cursor of a position in each kind of list, or `None` for the start.
pub fn cursors(mac_keys: &MacKeys, position: Position) -> Vec<Option<String>> {
    List::ALL.into_iter().map(|list| cursor::encode(mac_keys, list, position)).collect()
}

/// Decodes a text as a cursor of each kind of list. Yields `None` for a list that it is not a cursor of.
pub fn positions(mac_keys: &MacKeys, cursor: &str) -> Vec<Option<Position>> {
    List::ALL.into_iter().map(|list| cursor::decode(mac_keys, list, cursor)).collect()
}

/// Returns the `Link` header of a list of posts that is requested with this query and has a page before and after
/// `position`, or `None` if the query is invalid.
pub fn links(mac_keys: &MacKeys, public_url: &str, path: &str, query: &str, position: Position) -> Option<String> {
    let query = Query::new(path, query, mac_keys.clone());
    query.page(List::Posts).ok()?;
    query.feed_page().ok()?;
    query.links(public_url, List::Posts, Neighbours { prev: Some(position), next: Some(position) })
}

/// Parses an instant as the query parameter `createAt` does. Returns it in Unix milliseconds.
pub fn parse_instant(text: &str) -> Option<i64> {
    paging::parse_instant(text).map(|instant| instant.unix_millis())
}

/// Returns an instant as it is rendered in responses.
pub fn print_instant(millis: i64) -> String {
    Instant(agora_domain::clock::Timestamp::from_unix_millis(millis)).to_string()
}

/// Returns whether `If-None-Match` matches this entity tag.
pub fn if_none_match(header: &[u8], tag: &str) -> bool {
    with_header(header::IF_NONE_MATCH, header).is_some_and(|request| preconditions::has(&request, tag))
}

/// Returns the versions that this `If-Match` allows to edit.
pub fn if_match(header: &[u8]) -> Versions {
    let list = with_header(header::IF_MATCH, header).and_then(|it| preconditions::list(&it, header::IF_MATCH));
    list.map_or(Versions::Any, |list| preconditions::versions(&list))
}

/// Returns the entity tag of a version.
pub fn version_tag(millis: i64) -> String {
    etag::version_tag(agora_domain::clock::Timestamp::from_unix_millis(millis))
}

/// Parses a `Range` header.
pub fn range(header: &str) -> Option<ByteRange> {
    media::parse_range(header)
}

/// Returns the key in `Idempotency-Key`, or `None` if it is invalid.
pub fn idempotency_key(header: &[u8]) -> Option<String> {
    let request = with_header(HeaderName::from_static("idempotency-key"), header)?;
    Some(idempotency::key(IdempotencySupport::Json, request.headers()).ok()??.as_str().to_owned())
}

/// Returns the bearer token in `Authorization`.
pub fn bearer_token(header: &[u8]) -> Option<String> {
    authorize::bearer_token(&with_header(header::AUTHORIZATION, header)?).map(str::to_owned)
}

/// Returns the content encoding of the response to a request with this `Accept-Encoding`.
pub fn encoding(header: &[u8]) -> Option<&'static str> {
    let value = HeaderValue::from_bytes(header).ok()?;
    let request = TestRequest::default().insert_header((header::ACCEPT_ENCODING, value)).to_srv_request();
    compress::preferred(&request).map(|encoding| encoding.as_str())
}

/// Returns a request with this header, or `None` if the value is not a valid one.
fn with_header(name: HeaderName, value: &[u8]) -> Option<HttpRequest> {
    let value = HeaderValue::from_bytes(value).ok()?;
    Some(TestRequest::default().insert_header((name, value)).to_http_request())
}

/// Returns the client address of a request that `peer` sent with this `X-Forwarded-For`.
pub fn client(trusted: &TrustedProxies, peer: IpAddr, forwarded: &[u8]) -> IpAddr {
    with_header(header::X_FORWARDED_FOR, forwarded).map_or(peer, |request| trusted.client(peer, request.headers()))
}
