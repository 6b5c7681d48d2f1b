use super::*;
use crate::error::ViolationKind;

#[test]
fn topics_are_names_separated_by_commas() {
    let topics = Topics::parse(&format!("feed, notifications,public,,post:{POST},feed")).unwrap();
    let all: Vec<_> = topics.iter().collect();
    assert_eq!(all, [Topic::Notifications, Topic::Feed, Topic::Public, Topic::Post(POST)]);
    for (names, kind) in [
        ("", ViolationKind::Required),
        (" , ", ViolationKind::Required),
        ("feeds", ViolationKind::NotAllowed),
        ("Feed", ViolationKind::NotAllowed),
        ("post:", ViolationKind::NotAllowed),
        ("post:1", ViolationKind::NotAllowed),
        ("post:00000000000070008000000000000000", ViolationKind::NotAllowed),
        ("post:urn:uuid:00000000-0000-7000-8000-000000000000", ViolationKind::NotAllowed),
        ("feed,user:1", ViolationKind::NotAllowed),
    ] {
        assert_eq!(Topics::parse(names).unwrap_err().kind(), kind, "{names}");
    }
}

#[test]
fn a_stream_has_at_most_50_topics() {
    let posts = |count: u128| (1..=count).map(|n| format!("post:{}", Uuid::from_u128(n))).collect::<Vec<_>>().join(",");
    assert_eq!(Topics::parse(&posts(50)).unwrap().posts().count(), 50);
    assert_eq!(Topics::parse(&posts(51)).unwrap_err().kind(), ViolationKind::OutOfRange);
}

#[test]
fn a_position_parses_its_own_display_form() {
    for number in [0, 1, u64::MAX] {
        for part in [Part::Feed, Part::Rest] {
            let position = Position { epoch: u64::MAX - number, number, part };
            assert_eq!(position.to_string().parse(), Ok(position));
        }
    }
    for other in
        ["", "-", "1", "1-", "-1", "1-g", "+1-1", "1-+1", "1-1p1", "1-p", "10000000000000000-1", "1-1-1", "é-1"]
    {
        assert_eq!(other.parse::<Position>(), Err(InvalidPosition), "{other}");
    }
}

#[test]
fn a_position_completes_its_event_only_with_the_last_part() {
    let feed = Position { epoch: EPOCH, number: 5, part: Part::Feed };
    let rest = Position::after(EPOCH, 5);
    assert_eq!((feed.complete(), rest.complete()), (4, 5));
    assert!(feed.is_before(rest) && !rest.is_before(feed) && !rest.is_before(rest));
}
