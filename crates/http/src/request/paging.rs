//! The query parameters of lists, and the links to the pages beside one.

use std::cell::RefCell;
use std::collections::BTreeSet;

use agora_domain::FieldErrors;
use agora_domain::clock::Timestamp;
use agora_domain::error::{FieldName, Violation, ViolationKind};
use agora_domain::page::{Neighbours, PageRequest, PageSize, Position};
use agora_domain::posts::FeedRequest;
use time::format_description::well_known::Rfc3339;
use time::macros::format_description;
use time::{Date, OffsetDateTime};
use url::form_urlencoded;

use crate::core::{ApiError, MacKeys, spelling};
use crate::request::{List, cursor};

/// The query of a request: its path, and its parameters in their order.
pub(crate) struct Query {
    path: String,
    parameters: Vec<(String, String)>,
    /// Which of them were asked for: the links to other pages say no more, however much a client has sent.
    asked: RefCell<BTreeSet<usize>>,
    mac_keys: MacKeys,
}

impl Query {
    /// Creates the query of a path, with the keys that authenticate cursors.
    pub(crate) fn new(path: &str, query: &str, mac_keys: MacKeys) -> Self {
        let parameters = form_urlencoded::parse(query.as_bytes()).into_owned().collect();
        Self { path: path.to_owned(), parameters, asked: RefCell::default(), mac_keys }
    }

    /// Returns what each parameter says that gives a field, in their order.
    pub(crate) fn get_all(&self, field: FieldName) -> impl Iterator<Item = &str> {
        let given = self.parameters.iter().enumerate().filter(move |(_, (given, _))| given == spelling(field));
        let mut said = BTreeSet::new();
        given.map(move |(number, (_, value))| {
            // What is said again says no more.
            if said.insert(value) {
                self.asked.borrow_mut().insert(number);
            }
            value.as_str()
        })
    }

    /// Returns what the first parameter says that gives a field.
    pub(crate) fn get(&self, field: FieldName) -> Option<&str> {
        self.get_all(field).next()
    }

    /// Parses the page of a list that `size` and `cursor` ask for.
    pub(crate) fn page(&self, list: List) -> Result<PageRequest, ApiError> {
        self.page_with(list, FieldErrors::default())
    }

    /// Parses the page of a list that is never returned as a whole.
    pub(crate) fn short_page(&self, list: List) -> Result<PageRequest, ApiError> {
        self.short_page_with(list, FieldErrors::default())
    }

    /// Parses the page of the following feed: `createAt` says before when its posts were made.
    pub(crate) fn feed_page(&self) -> Result<FeedRequest, ApiError> {
        let mut errors = FieldErrors::default();
        let made_before = errors.check_given(FieldName::MadeBefore, self.get(FieldName::MadeBefore), |given| {
            parse_instant(given).ok_or_else(|| invalid("createAt must be an RFC 3339 time or a date"))
        });
        Ok(FeedRequest { page: self.short_page_with(List::Posts, errors)?, made_before })
    }

    /// Like [`page`](Self::page), when these fields are invalid besides.
    pub(crate) fn page_with(&self, list: List, errors: FieldErrors) -> Result<PageRequest, ApiError> {
        self.page_or(list, PageSize::LIST_DEFAULT, errors)
    }

    /// Like [`short_page`](Self::short_page), when these fields are invalid besides.
    pub(crate) fn short_page_with(&self, list: List, errors: FieldErrors) -> Result<PageRequest, ApiError> {
        self.page_or(list, PageSize::SHORT_DEFAULT, errors)
    }

    fn page_or(&self, list: List, default: PageSize, mut errors: FieldErrors) -> Result<PageRequest, ApiError> {
        let size = errors.check_given(FieldName::PageSize, self.get(FieldName::PageSize), PageSize::parse);
        let from = errors.check_given(FieldName::Position, self.get(FieldName::Position), |given| {
            cursor::decode(&self.mac_keys, list, given).ok_or_else(|| invalid("cursor is not one of this list"))
        });
        errors.into_result()?;
        Ok(PageRequest { from: from.unwrap_or(Position::Start), size: size.unwrap_or(default) })
    }

    /// Returns the value of the `Link` header that names the pages beside one, at the address of the service; nothing
    /// when it is the only one.
    pub(crate) fn links(&self, public_url: &str, list: List, beside: Neighbours) -> Option<String> {
        let beside = [("prev", beside.prev), ("next", beside.next)].into_iter();
        let links = beside.filter_map(|(relation, position)| {
            let address = self.address(public_url, list, position?);
            Some(format!("<{address}>; rel=\"{relation}\""))
        });
        let links: Vec<_> = links.collect();
        (!links.is_empty()).then(|| links.join(", "))
    }

    /// Returns the address of the page at a position of the same list: every parameter that was asked for is kept, but the cursor.
    fn address(&self, public_url: &str, list: List, position: Position) -> String {
        let cursor = cursor::encode(&self.mac_keys, list, position);
        let asked = self.asked.borrow();
        let kept = asked.iter().filter_map(|number| self.parameters.get(*number)).filter(|(name, _)| name != "cursor");
        let query = form_urlencoded::Serializer::new(String::new())
            .extend_pairs(kept)
            .extend_pairs(cursor.map(|cursor| ("cursor", cursor)))
            .finish();
        let mark = if query.is_empty() { "" } else { "?" };
        format!("{public_url}{}{mark}{query}", self.path)
    }
}

fn invalid(message: &str) -> Violation {
    Violation::new(ViolationKind::InvalidFormat, message)
}

/// Parses an RFC 3339 time or a date (its midnight, UTC), rounded up to the next millisecond so that nothing before it
/// is left out. A `+` that was not encoded arrives as a space. Years have four digits: what lies further away is no
/// time of RFC 3339, and some databases hold none of it.
pub(crate) fn parse_instant(text: &str) -> Option<Timestamp> {
    const DATE: &[time::format_description::BorrowedFormatItem<'_>] = format_description!("[year]-[month]-[day]");
    let text = text.trim();
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
        for bad in ["", "yesterday", "2025-07-15T00:24:54", "2025-13-01", "1752539094", "2025-07-15T25:00:00Z"] {
            assert_eq!(millis(bad), None, "{bad}");
        }
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
        fn an_instant_is_read_as_it_is_shown(millis in -62_167_219_200_000..253_402_300_800_000_i64) {
            let instant = Timestamp::from_unix_millis(millis);
            let shown = Instant(instant).to_string();
            prop_assert_eq!(parse_instant(&shown), Some(instant), "{}", &shown);
            prop_assert_eq!(parse_instant(&shown.replace('+', " ")), Some(instant), "{}", &shown);
        }

        #[test]
        fn what_is_asked_of_a_query_goes_into_links_as_it_came(
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
            let mut expected: Vec<_> = all(&query).into_iter().filter(|(name, _)| name == "q").take(1).collect();
            expected.extend(all(given).pop().filter(|(name, _)| name == "cursor"));
            prop_assert_eq!(all(given), expected);
        }
    }
}
