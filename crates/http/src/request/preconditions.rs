//! The conditional headers of requests: `If-None-Match`, for what the client has already, and `If-Match`, for the version that
//! an edit is based on.

use actix_web::HttpRequest;
use actix_web::http::header;
use actix_web::http::header::HeaderName;
use agora_domain::clock::Timestamp;
use agora_domain::version::Versions;

use crate::core::extractor;

/// Returns the entity tags of a header, without the prefix `W/` of weak ones.
fn tags(list: &str) -> impl Iterator<Item = &str> {
    list.split(',').map(|tag| tag.trim().trim_start_matches("W/"))
}

/// Returns all values of a header joined by commas; `None` if the header is missing.
pub(crate) fn list(request: &HttpRequest, name: HeaderName) -> Option<String> {
    let mut values = request.headers().get_all(name).map(|value| value.to_str().unwrap_or_default());
    let first = values.next()?.to_owned();
    Some(values.fold(first, |list, value| list + "," + value))
}

/// Returns whether `If-None-Match` contains this entity tag, or `*`: the client has the representation already.
pub(crate) fn has(request: &HttpRequest, tag: &str) -> bool {
    let known = list(request, header::IF_NONE_MATCH);
    let tag = tag.trim_start_matches("W/");
    known.is_some_and(|known| tags(&known).any(|known| known == "*" || known == tag))
}

/// The versions to which an edit applies: those in `If-Match`, or any without the header.
pub(crate) struct IfMatch(pub(crate) Versions);

extractor!(IfMatch, |request| {
    Ok(Self(list(request, header::IF_MATCH).map_or(Versions::Any, |list| versions(&list))))
});

pub(crate) fn versions(list: &str) -> Versions {
    if list.trim() == "*" {
        return Versions::Any;
    }
    // A tag that this service did not issue matches no version.
    Versions::OneOf(tags(list).filter_map(version).collect())
}

fn version(tag: &str) -> Option<Timestamp> {
    let tag = tag.strip_prefix('"')?.strip_suffix('"')?;
    let version = tag.split_once('-').map_or(tag, |(version, _)| version);
    // The hexadecimal digits of all bits. Times before 1970, which a wrong clock can produce, begin with f.
    u64::from_str_radix(version, 16).ok().map(|bits| Timestamp::from_unix_millis(bits.cast_signed()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn if_match_is_parsed_into_versions_and_invalid_tags_match_none() {
        let at = Timestamp::from_unix_millis;
        assert_eq!(versions("*"), Versions::Any);
        assert_eq!(versions("\"a-0f\", W/\"b\""), Versions::OneOf(vec![at(10), at(11)]));
        for none in ["", "a", "\"", "\"\"", "\"x-1\"", "\"a", "a\"", "\"10000000000000000\""] {
            assert_eq!(versions(none), Versions::OneOf(vec![]), "{none}");
        }
    }
}
