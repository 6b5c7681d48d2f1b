//! The query parameters of lists, and the links to the previous and the next page.

use std::cell::RefCell;
use std::collections::BTreeSet;

use agora_domain::FieldErrors;
use agora_domain::clock::Timestamp;
use agora_domain::error::{FieldName, Violation, ViolationKind};
use agora_domain::page::{Neighbours, PageRequest, PageSize, Position};
use agora_domain::posts::FeedRequest;
use percent_encoding::{AsciiSet, CONTROLS, percent_decode_str, utf8_percent_encode};
use time::format_description::well_known::Rfc3339;
use time::macros::format_description;
use time::{Date, OffsetDateTime};
use url::form_urlencoded;

use crate::core::{ApiError, MacKeys, spelling};
use crate::request::{List, cursor};

/// The path of a request, and its query parameters in their order.
pub(crate) struct Query {
    path: String,
    parameters: Vec<(String, String)>,
    /// The indices of the parameters that the handler has read. Links to other pages contain only these, whatever else the client
    /// sent.
    used: RefCell<BTreeSet<usize>>,
    mac_keys: MacKeys,
}

impl Query {
    /// Creates the query of a path, with the keys that authenticate cursors.
    pub(crate) fn new(path: &str, query: &str, mac_keys: MacKeys) -> Self {
        let parameters = form_urlencoded::parse(query.as_bytes()).into_owned().collect();
        Self { path: path.to_owned(), parameters, used: RefCell::default(), mac_keys }
    }

    /// Returns the values of all parameters of a field, in their order.
    pub(crate) fn get_all(&self, field: FieldName) -> impl Iterator<Item = &str> {
        let matching = self.parameters.iter().enumerate().filter(move |(_, (name, _))| name == spelling(field));
        let mut values = BTreeSet::new();
        matching.map(move |(index, (_, value))| {
            // Repeated values are left out of links.
            if values.insert(value) {
                self.used.borrow_mut().insert(index);
            }
            value.as_str()
        })
    }

    /// Returns the value of the first parameter of a field.
    pub(crate) fn get(&self, field: FieldName) -> Option<&str> {
        self.get_all(field).next()
    }

    /// Parses `size` and `cursor` of a list. Without `size`, the page has up to [`PageSize::LIST_DEFAULT`] entries.
    pub(crate) fn page(&self, list: List) -> Result<PageRequest, ApiError> {
        self.page_with(list, FieldErrors::default())
    }

    /// Parses `size` and `cursor` of a list that has short pages by default.
    pub(crate) fn short_page(&self, list: List) -> Result<PageRequest, ApiError> {
        self.short_page_with(list, FieldErrors::default())
    }

    /// Parses `size`, `cursor` and `createAt` of the following feed. Its posts were made before `createAt`.
    pub(crate) fn feed_page(&self) -> Result<FeedRequest, ApiError> {
        let mut errors = FieldErrors::default();
        let created_before =
            errors.check_optional(FieldName::CreatedBefore, self.get(FieldName::CreatedBefore), |given| {
                parse_instant(given).ok_or_else(|| invalid("createAt must be an RFC 3339 time or a date"))
            });
        Ok(FeedRequest { page: self.short_page_with(List::Posts, errors)?, created_before })
    }

    /// Like [`page`](Self::page), with errors of other parameters to be reported together.
    pub(crate) fn page_with(&self, list: List, errors: FieldErrors) -> Result<PageRequest, ApiError> {
        self.page_with_default(list, PageSize::LIST_DEFAULT, errors)
    }

    /// Like [`short_page`](Self::short_page), with errors of other parameters to be reported together.
    pub(crate) fn short_page_with(&self, list: List, errors: FieldErrors) -> Result<PageRequest, ApiError> {
        self.page_with_default(list, PageSize::SHORT_DEFAULT, errors)
    }

    fn page_with_default(
        &self,
        list: List,
        default: PageSize,
        mut errors: FieldErrors,
    ) -> Result<PageRequest, ApiError> {
        let size = errors.check_optional(FieldName::PageSize, self.get(FieldName::PageSize), PageSize::parse);
        let from = errors.check_optional(FieldName::Position, self.get(FieldName::Position), |given| {
            cursor::decode(&self.mac_keys, list, given).ok_or_else(|| invalid("cursor is not one of this list"))
        });
        errors.into_result()?;
        Ok(PageRequest { from: from.unwrap_or(Position::Start), size: size.unwrap_or(default) })
    }

    /// Returns the value of the `Link` header with the URLs of the previous and the next page; `None` if there is neither.
    pub(crate) fn links(&self, public_url: &str, list: List, neighbours: Neighbours) -> Option<String> {
        let neighbours = [("prev", neighbours.prev), ("next", neighbours.next)].into_iter();
        let links = neighbours.filter_map(|(relation, position)| {
            let address = self.address(public_url, list, position?);
            Some(format!("<{address}>; rel=\"{relation}\""))
        });
        let links: Vec<_> = links.collect();
        (!links.is_empty()).then(|| links.join(", "))
    }

    /// Returns the URL of the page at a position of the same list. It has all parameters that were used, with a new cursor. The
    /// white space around them, which parsing drops, is left out: it may be as long as a request.
    fn address(&self, public_url: &str, list: List, position: Position) -> String {
        let cursor = cursor::encode(&self.mac_keys, list, position);
        let used = self.used.borrow();
        let kept = used.iter().filter_map(|index| self.parameters.get(*index)).filter(|(name, _)| name != "cursor");
        let kept = kept.map(|(name, value)| (name, value.trim()));
        let query = form_urlencoded::Serializer::new(String::new())
            .extend_pairs(kept)
            .extend_pairs(cursor.map(|cursor| ("cursor", cursor)))
            .finish();
        let mark = if query.is_empty() { "" } else { "?" };
        format!("{public_url}{}{mark}{query}", without_padding(&self.path))
    }
}

/// What is percent-encoded in the segments of a path: all but the characters that RFC 3986 allows there (`pchar`).
const ENCODED: &AsciiSet = &CONTROLS
    .add(b' ')
    .add(b'"')
    .add(b'#')
    .add(b'%')
    .add(b'/')
    .add(b'<')
    .add(b'>')
    .add(b'?')
    .add(b'[')
    .add(b'\\')
    .add(b']')
    .add(b'^')
    .add(b'`')
    .add(b'{')
    .add(b'|')
    .add(b'}');

/// What is percent-encoded in a segment that may be encoded already: characters that clients must not send, but may.
const UNENCODED: &AsciiSet = &ENCODED.remove(b'%');

/// Returns the path with the white space around each segment removed.
fn without_padding(path: &str) -> String {
    let segments = path.split('/').map(|segment| {
        let decoded = percent_decode_str(segment).decode_utf8_lossy();
        match decoded.trim() {
            trimmed if trimmed.len() == decoded.len() => utf8_percent_encode(segment, UNENCODED).to_string(),
            // Without white space, a segment of dots would lead to another path.
            dots @ ("." | "..") => format!("%20{dots}"),
            trimmed => utf8_percent_encode(trimmed, ENCODED).to_string(),
        }
    });
    segments.collect::<Vec<_>>().join("/")
}

fn invalid(message: &str) -> Violation {
    Violation::new(ViolationKind::InvalidFormat, message)
}

/// Parses an RFC 3339 time or a date (its midnight, UTC), rounded up to the next millisecond so that nothing before it
/// is left out. A `+` that was not percent-encoded arrives as a space. Years must have four digits: RFC 3339 has no others, and
/// some databases cannot store them.
pub(crate) fn parse_instant(text: &str) -> Option<Timestamp> {
    const DATE: &[time::format_description::BorrowedFormatItem<'_>] = format_description!("[year]-[month]-[day]");
    let text = text.trim();
    // Longer than any time to the nanosecond: a fraction may have any number of digits.
    if text.len() > 40 {
        return None;
    }
    let instant = match Date::parse(text, DATE) {
        Ok(date) if (0..=9999).contains(&date.year()) => date.midnight().assume_utc(),
        Ok(_) => return None,
        Err(_) => OffsetDateTime::parse(&text.replacen(' ', "+", 1), &Rfc3339).ok()?,
    };
    let nanos = instant.unix_timestamp_nanos();
    let millis = nanos.div_euclid(1_000_000) + i128::from(nanos.rem_euclid(1_000_000) > 0);
    i64::try_from(millis).ok().map(Timestamp::from_unix_millis)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::response::Instant;

    #[test]
    fn instants_are_rfc_3339_times_or_dates() {
        let millis = |text| parse_instant(text).map(Timestamp::unix_millis);
        assert_eq!(millis("2025-07-15T00:24:54.124+00:00"), Some(1_752_539_094_124));
        assert_eq!(millis("2025-07-15T00:24:54.124 00:00"), Some(1_752_539_094_124));
        assert_eq!(millis("2025-07-15T02:24:54.124+02:00"), Some(1_752_539_094_124));
        assert_eq!(millis("2025-07-15T00:24:54.124Z"), Some(1_752_539_094_124));
        assert_eq!(millis("2025-07-15T00:24:54.1240001Z"), Some(1_752_539_094_125));
        assert_eq!(millis("2025-07-15"), Some(1_752_537_600_000));
        assert_eq!(millis("2025-07-15T02:24:54.000000001+02:00"), Some(1_752_539_094_001));
        let long = format!("2025-07-15T00:24:54.{}Z", "0".repeat(50));
        for bad in [&*long, "", "yesterday", "2025-07-15T00:24:54", "2025-13-01", "1752539094", "2025-07-15T25:00:00Z"]
        {
            assert_eq!(millis(bad), None, "{bad}");
        }
    }

    #[test]
    fn links_leave_out_the_padding_of_parameters_and_of_the_path() {
        let padding = "%20%E2%80%83%0A".repeat(1000);
        assert_eq!(without_padding("/a/%2%35/%20%20..%20/%7Eb/\"{c}"), "/a/%2%35/%20../%7Eb/%22%7Bc%7D");
        let path = format!("/api/products/category/{padding}Caf%C3%A9%2Fbar%20{padding}");
        let of = Query::new(&path, &format!("q={padding}two%20words{padding}"), MacKeys::new(b"a secret"));
        of.get(FieldName::SearchText);
        assert_eq!(
            of.address("https://agora.example.org", List::Products, Position::Start),
            "https://agora.example.org/api/products/category/Caf%C3%A9%2Fbar?q=two+words"
        );
    }

    #[test]
    fn years_have_four_digits() {
        let millis = |text| parse_instant(text).map(Timestamp::unix_millis);
        assert_eq!(millis("0000-01-01"), Some(-62_167_219_200_000));
        assert_eq!(millis("9999-12-31T23:59:59.999Z"), Some(253_402_300_799_999));
        for bad in ["-9999-01-01", "-0001-12-31", "-4714-01-01T00:00:00Z", "10000-01-01", "+10000-01-01", "999-01-01"] {
            assert_eq!(millis(bad), None, "{bad}");
        }
    }

    proptest! {
        #![proptest_config(crate::proptest_config())]

        #[test]
        fn a_rendered_instant_is_parsed_back_unchanged(millis in -62_167_219_200_000..253_402_300_800_000_i64) {
            let instant = Timestamp::from_unix_millis(millis);
            let shown = Instant(instant).to_string();
            prop_assert_eq!(parse_instant(&shown), Some(instant), "{}", &shown);
            prop_assert_eq!(parse_instant(&shown.replace('+', " ")), Some(instant), "{}", &shown);
        }

        #[test]
        fn links_keep_the_parameters_that_were_read_unchanged_and_no_others(
            query in "([a-z+%&= <>\"é]|&q=|&cursor=|%[0-9A-F]{2}){0,20}",
        ) {
            let all = |query: &str| form_urlencoded::parse(query.as_bytes()).into_owned().collect::<Vec<_>>();
            let of = Query::new("/api/posts/all", &query, MacKeys::new(b"a secret"));
            of.get(FieldName::SearchText);
            of.get(FieldName::Position);
            let address = of.address("https://agora.example.org", List::Posts, Position::End);
            prop_assert!(address.bytes().all(|byte| byte.is_ascii_graphic() && !b"<>\"".contains(&byte)), "{}", address);
            let (place, given) = address.split_once('?').unwrap_or_default();
            prop_assert_eq!(place, "https://agora.example.org/api/posts/all");
            let read = all(&query).into_iter().filter(|(name, _)| name == "q").take(1);
            let mut expected: Vec<_> = read.map(|(name, value)| (name, value.trim().to_owned())).collect();
            expected.extend(all(given).pop().filter(|(name, _)| name == "cursor"));
            prop_assert_eq!(all(given), expected);
        }
    }
}
