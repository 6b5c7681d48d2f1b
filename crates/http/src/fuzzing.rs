//! What the fuzz targets (`fuzz/`) call, of what is otherwise this crate's own: one function for each parser of what
//! comes from outside.

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

/// What the body of a post says that arrives in these pieces, or the status and the words of its refusal.
///
/// # Errors
/// The refusal.
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

/// Returns the parts of a body between the boundaries of a form of this content type, by which a repeated request is
/// known; and what stands between them.
pub fn known_parts<'a>(content_type: &str, body: &'a [u8]) -> (Vec<&'a [u8]>, String) {
    let boundary = idempotency::boundary(content_type);
    let parts = idempotency::parts(boundary, body).collect();
    (parts, boundary.map(|boundary| format!("--{boundary}")).unwrap_or_default())
}

/// Reads a body as each JSON request of the interface; the status of each, 200 when nothing is wrong with it.
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

/// Returns the cursor of a position in each list; nothing for the beginning.
pub fn cursors(mac_keys: &MacKeys, position: Position) -> Vec<Option<String>> {
    List::EACH.into_iter().map(|list| cursor::encode(mac_keys, list, position)).collect()
}

/// Returns the position that a text names in each list; nothing where it is no cursor of that list.
pub fn positions(mac_keys: &MacKeys, cursor: &str) -> Vec<Option<Position>> {
    List::EACH.into_iter().map(|list| cursor::decode(mac_keys, list, cursor)).collect()
}

/// Returns the links of a list of posts that is asked for with this query and has a page before and after `position`;
/// nothing when the query is refused.
pub fn links(mac_keys: &MacKeys, public_url: &str, path: &str, query: &str, position: Position) -> Option<String> {
    let query = Query::new(path, query, mac_keys.clone());
    query.page(List::Posts).ok()?;
    query.feed_page().ok()?;
    query.links(public_url, List::Posts, Neighbours { prev: Some(position), next: Some(position) })
}

/// Returns the milliseconds of an instant as `createAt` has it.
pub fn parse_instant(text: &str) -> Option<i64> {
    paging::parse_instant(text).map(|instant| instant.unix_millis())
}

/// Returns an instant as answers show it.
pub fn print_instant(millis: i64) -> String {
    Instant(agora_domain::clock::Timestamp::from_unix_millis(millis)).to_string()
}

/// Returns whether `If-None-Match` says that the client has what this tag is of.
pub fn if_none_match(header: &[u8], tag: &str) -> bool {
    with_header(header::IF_NONE_MATCH, header).is_some_and(|request| preconditions::has(&request, tag))
}

/// Returns the versions that an edit under this `If-Match` is meant for.
pub fn if_match(header: &[u8]) -> Versions {
    let list = with_header(header::IF_MATCH, header).and_then(|it| preconditions::list(&it, header::IF_MATCH));
    list.map_or(Versions::Any, |list| preconditions::versions(&list))
}

/// Returns the tag of a version.
pub fn version_tag(millis: i64) -> String {
    etag::version_tag(agora_domain::clock::Timestamp::from_unix_millis(millis))
}

/// Returns the part of an image that a `Range` asks for.
pub fn range(header: &str) -> Option<ByteRange> {
    media::parse_range(header)
}

/// Returns the key of `Idempotency-Key`; nothing when it is refused.
pub fn idempotency_key(header: &[u8]) -> Option<String> {
    let request = with_header(HeaderName::from_static("idempotency-key"), header)?;
    Some(idempotency::key(IdempotencySupport::Json, request.headers()).ok()??.as_str().to_owned())
}

/// Returns the token of `Authorization`.
pub fn bearer_token(header: &[u8]) -> Option<String> {
    authorize::bearer_token(&with_header(header::AUTHORIZATION, header)?).map(str::to_owned)
}

/// Returns the encoding of an answer to a request with this `Accept-Encoding`.
pub fn encoding(header: &[u8]) -> Option<&'static str> {
    let value = HeaderValue::from_bytes(header).ok()?;
    let request = TestRequest::default().insert_header((header::ACCEPT_ENCODING, value)).to_srv_request();
    compress::preferred(&request).map(|encoding| encoding.as_str())
}

/// Returns a request with this header; nothing when the server would not take it for one.
fn with_header(name: HeaderName, value: &[u8]) -> Option<HttpRequest> {
    let value = HeaderValue::from_bytes(value).ok()?;
    Some(TestRequest::default().insert_header((name, value)).to_http_request())
}

/// Where a request comes from that came in from `peer` with this `X-Forwarded-For`.
pub fn client(trusted: &TrustedProxies, peer: IpAddr, forwarded: &[u8]) -> IpAddr {
    with_header(header::X_FORWARDED_FOR, forwarded).map_or(peer, |request| trusted.client(peer, request.headers()))
}
