//! Prices, stocks, sizes, instants and ranges.

use agora_domain::clock::Timestamp;
use agora_domain::media::ByteRange;
use agora_domain::page::PageSize;
use agora_domain::products::{Color, Price, Size, Stock, Variant};
use agora_domain::version::next_version;
use proptest::prelude::*;

use super::{config, text};

const LIMIT: i64 = 100_000_000_000_000;

fn variant(pieces: i64) -> Variant {
    Variant { color: Color::parse("").unwrap(), size: Size::parse("").unwrap(), stock: Stock::parse(pieces).unwrap() }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn a_price_is_parsed_as_what_it_is_shown(hundredths in 0..LIMIT, zeros in "0{0,20}") {
        let price = Price::from_hundredths(hundredths).unwrap();
        prop_assert_eq!(price.hundredths(), hundredths);
        prop_assert_eq!(Price::parse(&price.to_string()), Ok(price));
        prop_assert_eq!(Price::parse(&format!("{price}{zeros}")), Ok(price));
    }

    #[test]
    fn a_price_out_of_bounds_is_refused(hundredths in prop_oneof![i64::MIN..0, LIMIT..i64::MAX]) {
        prop_assert!(Price::from_hundredths(hundredths).is_err());
        let literal = format!("{}.{:02}", hundredths / 100, hundredths.rem_euclid(100));
        prop_assert!(Price::parse(&literal).is_err());
    }

    #[test]
    fn what_is_taken_for_a_price_is_that_number(
        text in prop_oneof![text().boxed(), "-?[0-9]{0,14}(\\.[0-9]{0,4})?(e[0-9])?".boxed()]
    ) {
        let Ok(price) = Price::parse(&text) else { return Ok(()) };
        let (units, decimals) = text.split_once('.').unwrap_or((&text, ""));
        let hundredths: i64 = format!("{decimals:0<2}")[..2].parse().unwrap();
        prop_assert_eq!(price.hundredths(), units.parse::<i64>().unwrap() * 100 + hundredths);
        prop_assert!(decimals.len() <= 2 || decimals[2..].bytes().all(|digit| digit == b'0'));
    }

    #[test]
    fn the_stock_of_variants_is_their_sum(
        pieces in prop::collection::vec(0..i64::from(i32::MAX), 1..5), other in 0..i64::from(i32::MAX)
    ) {
        let variants: Vec<_> = pieces.iter().copied().map(variant).collect();
        let sum: i64 = pieces.iter().sum();
        let other = Stock::parse(other).unwrap();
        match Stock::of_variants(&variants, None) {
            Ok(stock) => {
                prop_assert_eq!(i64::from(stock.get()), sum);
                prop_assert_eq!(Stock::of_variants(&variants, Some(stock)), Ok(stock));
                prop_assert_eq!(Stock::of_variants(&variants, Some(other)).is_ok(), other == stock);
            }
            Err(_) => prop_assert!(sum > i64::from(i32::MAX)),
        }
    }

    #[test]
    fn a_stock_is_not_negative_and_fits(pieces in any::<i64>(), small in -5..5_i64) {
        for pieces in [pieces, small, i64::from(i32::MAX) + small] {
            let parsed = Stock::parse(pieces);
            prop_assert_eq!(parsed.is_ok(), (0..=i64::from(i32::MAX)).contains(&pieces));
            prop_assert!(parsed.is_err() || i64::from(parsed.unwrap().get()) == pieces);
        }
    }

    #[test]
    fn a_size_is_a_number_from_1_to_100(size in any::<u16>(), small in 0..130_u16, text in text()) {
        for size in [size, small] {
            let parsed = PageSize::parse(&size.to_string());
            prop_assert_eq!(parsed.is_ok(), (1..=100).contains(&size));
            prop_assert!(parsed.is_err() || parsed.unwrap().get() == usize::from(size));
        }
        if let Ok(size) = PageSize::parse(&text) {
            prop_assert!((1..=100).contains(&size.get()) && text.bytes().all(|byte| byte.is_ascii_digit()));
        }
    }

    #[test]
    fn no_version_has_the_name_of_the_one_before(before in i64::MIN..i64::MAX, now in any::<i64>()) {
        let (before, now) = (Timestamp::from_unix_millis(before), Timestamp::from_unix_millis(now));
        let next = next_version(before, now);
        prop_assert!(next > before && next >= now);
    }

    #[test]
    fn seconds_are_rounded_down(millis in any::<i64>(), moved in any::<i64>()) {
        let instant = Timestamp::from_unix_millis(millis);
        let seconds = i128::from(instant.unix_seconds());
        prop_assert!((seconds * 1000..seconds * 1000 + 1000).contains(&i128::from(millis)));
        let moved_by = (i128::from(millis) + i128::from(moved)).clamp(i64::MIN.into(), i64::MAX.into());
        prop_assert_eq!(i128::from(instant.plus_millis(moved).unix_millis()), moved_by);
    }

    #[test]
    fn a_range_is_never_outside_of_what_there_is(first in any::<u64>(), last in any::<u64>(), size in any::<u64>()) {
        for size in [size, size % 10, 0] {
            for range in [ByteRange::FromTo(first, last), ByteRange::From(first % 12), ByteRange::Last(last % 12)] {
                if let Some(part) = range.within(size) {
                    prop_assert!(part.start < part.end && part.end <= size);
                }
            }
        }
    }
}
