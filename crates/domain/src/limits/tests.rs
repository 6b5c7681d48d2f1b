//! The limits, over counters in memory.

use std::collections::HashMap;
use std::net::IpAddr;
use std::num::NonZeroU32;
use std::sync::{Arc, Mutex};

use super::*;
use crate::accounts::LoginIdentifier;
use crate::clock::Timestamp;
use crate::error::{Error, Result};
use crate::fixtures;
use crate::id::UserId;

const BEGUN: Timestamp = Timestamp::from_unix_millis(1_752_539_094_124);

/// Counters that evict nothing.
#[derive(Default)]
pub(crate) struct CountersInMemory(Mutex<HashMap<Counted, Window>>);

impl Counters for CountersInMemory {
    fn get(&self, counted: &Counted, now: Timestamp) -> Window {
        Window::at(self.0.lock().unwrap().get(counted).copied(), counted.limit(), now)
    }

    fn add(&self, counted: &Counted, now: Timestamp) -> Window {
        let mut windows = self.0.lock().unwrap();
        let window = Window::at(windows.get(counted).copied(), counted.limit(), now).with_one_more();
        windows.insert(counted.clone(), window);
        window
    }
}

fn client(address: &str) -> ClientAddress {
    ClientAddress::of(address.parse::<IpAddr>().unwrap())
}

/// Returns the limits over these counters, at an instant.
fn limits(counters: &Arc<CountersInMemory>, now: Timestamp) -> Limits {
    Limits { counters: Arc::clone(counters) as Arc<dyn Counters>, clock: fixtures::clock(now) }
}

fn refusal<T: std::fmt::Debug>(result: Result<T>) -> Allowance {
    match result {
        Err(Error::TooMany(allowance)) => allowance,
        other => panic!("{other:?}"),
    }
}

#[test]
fn clients_are_distinguished_by_ipv4_address_or_ipv6_network() {
    for (one, other, same) in [
        ("192.0.2.1", "192.0.2.1", true),
        ("192.0.2.1", "192.0.2.2", false),
        ("::ffff:192.0.2.1", "192.0.2.1", true),
        ("2001:db8::1", "2001:db8::ffff:ffff:ffff:ffff", true),
        ("2001:db8::1", "2001:db8:0:1::1", false),
        ("::1", "::2", false),
    ] {
        assert_eq!(client(one) == client(other), same, "{one} and {other}");
    }
    for (address, loopback) in
        [("127.0.0.1", true), ("127.1.2.3", true), ("::1", true), ("::ffff:127.0.0.1", true), ("::", false)]
    {
        assert_eq!(client(address).is_loopback(), loopback, "{address}");
    }
}

#[test]
fn sixty_logins_and_sixty_registrations_a_minute_are_admitted_from_an_address() {
    let counters = Arc::default();
    let [here, there] = ["192.0.2.1", "2001:db8::1"].map(client);
    let first = limits(&counters, BEGUN);
    for left in (0..60).rev() {
        let allowance = first.admit(&Counted::Logins(here)).unwrap().unwrap();
        assert_eq!((allowance.limit.most, allowance.remaining, allowance.reset_seconds), (60, left, 60));
        assert_eq!(first.admit(&Counted::Registrations(here)).unwrap().unwrap().remaining, left);
    }
    let last = limits(&counters, BEGUN.plus_millis(58_999));
    assert_eq!(refusal(last.admit(&Counted::Logins(here))).reset_seconds, 2);
    assert_eq!(refusal(last.admit(&Counted::Registrations(here))).remaining, 0);
    assert_eq!(last.admit(&Counted::Logins(there)).unwrap().unwrap().remaining, 59);
    let next = limits(&counters, BEGUN.plus_millis(60_000));
    assert_eq!(next.admit(&Counted::Logins(here)).unwrap().unwrap().remaining, 59);
}

#[test]
fn requests_are_admitted_up_to_the_configured_maximum_a_minute() {
    let counters = Arc::default();
    let [here, there] = ["192.0.2.1", "2001:db8::1"].map(client);
    let [alice, bob] = [1, 2].map(|id| UserId::new(uuid::Uuid::from_u128(id)));
    let most = NonZeroU32::new(3).unwrap();
    let first = limits(&counters, BEGUN);
    for left in (0..3).rev() {
        let of_address = first.admit(&Counted::Requests(here, most)).unwrap().unwrap();
        let of_account = first.admit(&Counted::AccountRequests(alice, most)).unwrap().unwrap();
        assert_eq!((of_address.limit.most, of_address.remaining, of_address.reset_seconds), (3, left, 60));
        assert_eq!(of_account, of_address);
    }
    let last = limits(&counters, BEGUN.plus_millis(59_999));
    assert_eq!(refusal(last.admit(&Counted::Requests(here, most))).reset_seconds, 1);
    assert_eq!(refusal(last.admit(&Counted::AccountRequests(alice, most))).reset_seconds, 1);
    assert_eq!(last.admit(&Counted::Requests(there, most)).unwrap().unwrap().remaining, 2);
    assert_eq!(last.admit(&Counted::AccountRequests(bob, most)).unwrap().unwrap().remaining, 2);
    assert_eq!(last.admit(&Counted::Requests(client("127.0.0.1"), most)).unwrap(), None);
    let next = limits(&counters, BEGUN.plus_millis(60_000));
    assert_eq!(next.admit(&Counted::Requests(here, most)).unwrap().unwrap().remaining, 2);
}

#[test]
fn logins_and_registrations_from_this_machine_are_not_limited() {
    let limits = limits(&Arc::default(), BEGUN);
    for address in ["127.0.0.1", "::1"].map(client) {
        for _ in 0..200 {
            assert_eq!(limits.admit(&Counted::Logins(address)).unwrap(), None);
            assert_eq!(limits.admit(&Counted::Registrations(address)).unwrap(), None);
        }
    }
}

#[test]
fn ten_wrong_passwords_are_allowed_in_the_minute_from_the_first() {
    let counters = Arc::default();
    let alice = UserId::new(uuid::Uuid::from_u128(1));
    let here = client("127.0.0.1");
    let name = LoginIdentifier::parse("nobody").unwrap();
    for counted in [Counted::WrongPasswords(alice, here), Counted::WrongNames(name, here)] {
        for n in 0..10 {
            let limits = limits(&counters, BEGUN.plus_millis(n * 5000));
            limits.check(&counted).unwrap();
            limits.count(&counted).unwrap();
        }
        let last = limits(&counters, BEGUN.plus_millis(59_999));
        assert_eq!(refusal(last.check(&counted)).reset_seconds, 1);
        limits(&counters, BEGUN.plus_millis(60_000)).check(&counted).unwrap();
        // Another address has a count of its own for the same account.
        let elsewhere = Counted::WrongPasswords(alice, client("192.0.2.1"));
        last.check(&elsewhere).unwrap();
    }
}

#[test]
fn a_clock_that_is_set_back_or_far_ahead_locks_nobody_out() {
    let counters = Arc::default();
    let here = client("192.0.2.1");
    for jump in [0, -1, -86_400_000, 86_400_000] {
        let limits = limits(&counters, BEGUN.plus_millis(jump));
        (0..60).for_each(|_| _ = limits.admit(&Counted::Logins(here)).unwrap());
        let allowance = refusal(limits.admit(&Counted::Logins(here)));
        assert!(allowance.reset_seconds <= 60, "{jump}: {allowance:?}");
    }
    for extreme in [i64::MIN, i64::MAX].map(Timestamp::from_unix_millis) {
        limits(&counters, extreme).admit(&Counted::Logins(here)).unwrap();
    }
}
