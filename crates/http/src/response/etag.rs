//! Tags of what is answered: `ETag`, `If-None-Match` and `If-Match`.
//!
//! The tag of a thing that can be edited begins with its version, which only an edit changes. What else an answer
//! shows, such as likes, makes up the rest. A cache compares whole tags, an edit the versions alone: a like that comes
//! in between does not make it stale.

use std::future::{Ready, ready};

use actix_web::{
    FromRequest, HttpRequest, HttpResponse,
    dev::Payload,
    http::{
        StatusCode,
        header::{self, HeaderName, HeaderValue},
    },
};
use agora_domain::{clock::Timestamp, version::Versions};
use sha2::{Digest, Sha256};

use crate::{
    core::{
        error::ApiError,
        mac::{Purpose, Seal},
    },
    response::envelope::{Answer, Rendered},
};

/// Who may keep an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Cache {
    /// Nobody on the way, the store of a browser included. A client that keeps it by itself can ask whether it holds.
    Private,
    /// Anybody; each time, it is asked whether it still holds.
    Public,
}

impl Cache {
    const fn control(self) -> &'static str {
        match self {
            Self::Private => "no-store",
            Self::Public => "public, no-cache",
        }
    }
}

// Tags are weak: the same answer may be sent compressed.

/// The tag of a version, without what else an answer shows: for edits.
pub(crate) fn version_tag(version: Timestamp) -> String {
    format!("W/\"{:x}\"", version.unix_millis())
}

/// The tag of an answer.
fn tag(version: Option<Timestamp>, rendered: &Rendered) -> String {
    let shown = Sha256::digest(rendered.body());
    let shown = shown.first_chunk().copied().map_or(0, u64::from_be_bytes);
    match version {
        Some(version) => format!("W/\"{:x}-{shown:016x}\"", version.unix_millis()),
        None => format!("W/\"{shown:016x}\""),
    }
}

/// Returns the tag of an answer that these parts and the code of this release determine. It differs from release to
/// release, and from one signing secret to another, with which links are made.
pub(crate) fn tag_of(seal: &Seal, parts: &[&[u8]]) -> String {
    let parts = parts.iter().copied().chain([env!("CARGO_PKG_VERSION").as_bytes()]);
    let code = seal.code(Purpose::Answer, parts);
    format!("W/\"{:016x}\"", code.first_chunk().copied().map_or(0, u64::from_be_bytes))
}

/// The tags of a header, as they are without the mark of weak ones.
fn tags(list: &str) -> impl Iterator<Item = &str> {
    list.split(',').map(|tag| tag.trim().trim_start_matches("W/"))
}

/// All values of a header as one list; nothing when it is not there.
pub(crate) fn list(request: &HttpRequest, name: HeaderName) -> Option<String> {
    let mut values = request.headers().get_all(name).map(|value| value.to_str().unwrap_or_default());
    let first = values.next()?.to_owned();
    Some(values.fold(first, |list, value| list + "," + value))
}

/// Whether the client has what this tag is of.
pub(crate) fn has(request: &HttpRequest, tag: &str) -> bool {
    let known = list(request, header::IF_NONE_MATCH);
    let tag = tag.trim_start_matches("W/");
    known.is_some_and(|known| tags(&known).any(|known| known == "*" || known == tag))
}

/// The request of a thing that the client may have already.
pub(crate) struct Conditional(HttpRequest);

impl Conditional {
    /// What a request says of that.
    pub(crate) fn of(request: &HttpRequest) -> Self {
        Self(request.clone())
    }

    /// The answer with its tag, without its body if the client has it.
    pub(crate) fn answer(&self, cache: Cache, version: Option<Timestamp>, rendered: Rendered) -> Answer {
        let tag = tag(version, &rendered);
        let response = self.unchanged(&tag).unwrap_or_else(|| rendered.into_response());
        Ok(tagged(response, cache, &tag))
    }

    /// The answer that `make` makes, under a tag that is known before; not made if the client has it.
    pub(crate) async fn answer_tagged(&self, cache: Cache, tag: &str, make: impl AsyncFnOnce() -> Answer) -> Answer {
        let response = match self.unchanged(tag) {
            Some(unchanged) => unchanged,
            None => make().await?,
        };
        Ok(tagged(response, cache, tag))
    }

    fn unchanged(&self, tag: &str) -> Option<HttpResponse> {
        has(&self.0, tag).then(|| HttpResponse::build(StatusCode::NOT_MODIFIED).finish())
    }
}

fn tagged(mut response: HttpResponse, cache: Cache, tag: &str) -> HttpResponse {
    let headers = [(header::CACHE_CONTROL, cache.control()), (header::ETAG, tag), (header::VARY, "Accept-Encoding")];
    for (name, value) in headers {
        // What it is made of is visible ASCII.
        if let Ok(value) = HeaderValue::from_str(value) {
            response.headers_mut().insert(name, value);
        }
    }
    response
}

impl FromRequest for Conditional {
    type Error = ApiError;
    type Future = Ready<Result<Self, ApiError>>;

    fn from_request(request: &HttpRequest, _: &mut Payload) -> Self::Future {
        ready(Ok(Self::of(request)))
    }
}

/// The versions that an edit is meant for: those of `If-Match`, or any.
pub(crate) struct IfMatch(pub(crate) Versions);

impl FromRequest for IfMatch {
    type Error = ApiError;
    type Future = Ready<Result<Self, ApiError>>;

    fn from_request(request: &HttpRequest, _: &mut Payload) -> Self::Future {
        ready(Ok(Self(list(request, header::IF_MATCH).map_or(Versions::Any, |list| versions(&list)))))
    }
}

pub(crate) fn versions(list: &str) -> Versions {
    if list.trim() == "*" {
        return Versions::Any;
    }
    // What is no tag of this service is none of a version that there is.
    Versions::OneOf(tags(list).filter_map(version).collect())
}

fn version(tag: &str) -> Option<Timestamp> {
    let tag = tag.strip_prefix('"')?.strip_suffix('"')?;
    let version = tag.split_once('-').map_or(tag, |(version, _)| version);
    // Digits of all its bits: those of a time before 1970, which a clock can go wrong by, begin with f.
    u64::from_str_radix(version, 16).ok().map(|bits| Timestamp::from_unix_millis(bits.cast_signed()))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_tag_is_of_its_version_and_of_all_that_is_shown() {
        let at = Timestamp::from_unix_millis;
        let rendered = |body: &str| Rendered::new(StatusCode::OK, &body).unwrap();
        let one = tag(Some(at(1_752_539_094_124)), &rendered("body"));
        assert_eq!(one, tag(Some(at(1_752_539_094_124)), &rendered("body")));
        for other in [
            tag(Some(at(1_752_539_094_124)), &rendered("other")),
            tag(Some(at(1_752_539_094_125)), &rendered("body")),
            tag(None, &rendered("body")),
        ] {
            assert_ne!(one, other);
        }
        assert_eq!(versions(&one), Versions::OneOf(vec![at(1_752_539_094_124)]));
        assert_eq!(versions(&version_tag(at(5))), Versions::OneOf(vec![at(5)]));
        assert_eq!(versions(&version_tag(at(-1))), Versions::OneOf(vec![at(-1)]));
    }

    #[test]
    fn a_tag_of_what_an_answer_follows_from_is_of_each_part_and_of_the_secret() {
        let seal = Seal::new(b"a secret");
        let one = tag_of(&seal, &[b"a", b"b"]);
        assert_eq!(one, tag_of(&seal, &[b"a", b"b"]));
        for other in
            [tag_of(&seal, &[b"a", b"c"]), tag_of(&seal, &[b"ab", b""]), tag_of(&Seal::new(b"another"), &[b"a", b"b"])]
        {
            assert_ne!(one, other);
        }
    }

    #[test]
    fn an_edit_is_meant_for_the_versions_named() {
        let at = Timestamp::from_unix_millis;
        assert_eq!(versions("*"), Versions::Any);
        assert_eq!(versions("\"a-0f\", W/\"b\""), Versions::OneOf(vec![at(10), at(11)]));
        for none in ["", "a", "\"", "\"\"", "\"x-1\"", "\"a", "a\"", "\"10000000000000000\""] {
            assert_eq!(versions(none), Versions::OneOf(vec![]), "{none}");
        }
    }

    proptest! {
        #![proptest_config(crate::made_up())]

        #[test]
        fn a_version_is_known_by_its_tag_among_any_others(millis in any::<i64>(), others in "[ -~]{0,20}") {
            let version = Timestamp::from_unix_millis(millis);
            let Versions::OneOf(named) = versions(&format!("{others},{}", version_tag(version))) else {
                panic!("a list with a tag means any version");
            };
            prop_assert!(named.contains(&version));
        }
    }
}
