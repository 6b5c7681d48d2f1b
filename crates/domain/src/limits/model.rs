//! The events that are counted, and how many of them are allowed.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::num::NonZeroU32;

use crate::accounts::LoginIdentifier;
use crate::clock::Timestamp;
use crate::id::UserId;

/// The address by which limits distinguish clients: an IPv4 address, or the /64 network of an IPv6 address, since one
/// subscriber has all of its 2^64 addresses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ClientAddress(IpAddr);

impl ClientAddress {
    /// The length of the network prefix of an IPv6 address, in bits.
    const NETWORK_BITS: u32 = 64;

    /// Returns the client address of an IP address. An IPv4-mapped IPv6 address counts as the IPv4 address.
    pub fn of(address: IpAddr) -> Self {
        Self(match address.to_canonical() {
            // A single address, without a network of other clients around it.
            loopback @ IpAddr::V6(Ipv6Addr::LOCALHOST) => loopback,
            IpAddr::V6(address) => {
                let host_bits = u128::BITS - Self::NETWORK_BITS;
                IpAddr::V6(Ipv6Addr::from_bits(address.to_bits() >> host_bits << host_bits))
            }
            address => address,
        })
    }

    /// Returns whether the client runs on this machine.
    pub fn is_loopback(&self) -> bool {
        self.0.is_loopback()
    }
}

/// The requester of expensive work, whose share of the queue it takes up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Requester {
    /// The account; `None` for a request that needs no token.
    pub account: Option<UserId>,
    /// The address that the request comes from.
    pub address: ClientAddress,
}

impl Requester {
    /// Returns a requester on this machine without an account, such as a command of the operator, to which no bound on
    /// shares applies.
    pub fn local() -> Self {
        Self { account: None, address: ClientAddress::of(Ipv4Addr::LOCALHOST.into()) }
    }
}

/// The maximum number of events within a period.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limit {
    /// The maximum number of events.
    pub most: u32,
    /// The length of the period, in seconds.
    pub period_seconds: u32,
}

impl Limit {
    const fn per_minute(most: u32) -> Self {
        Self { most, period_seconds: 60 }
    }

    /// Returns the length of the period, in milliseconds.
    pub fn period_millis(self) -> i64 {
        i64::from(self.period_seconds) * 1000
    }
}

/// The limit on the mails of a kind that an account requests (`contract`: Accounts), and on the changes to one address,
/// each of which sends a mail there.
pub const MAILS_AN_HOUR: Limit = Limit { most: 3, period_seconds: 3600 };

/// A kind of event that is counted, and by whom or what its count is kept.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Counted {
    /// Requests from one address, and the maximum that the operator has configured.
    Requests(ClientAddress, NonZeroU32),
    /// Requests of one account from any address, and the maximum that the operator has configured.
    AccountRequests(UserId, NonZeroU32),
    /// Requests to log in.
    Logins(ClientAddress),
    /// Requests to register.
    Registrations(ClientAddress),
    /// Requests about a forgotten password or the token of a mail.
    Recoveries(ClientAddress),
    /// Wrong passwords for an account, by whichever identifier it was named.
    WrongPasswords(UserId, ClientAddress),
    /// Attempts to change an account's password, whatever their outcome. Counted by address as well, so that the thief of
    /// a token cannot keep the owner from the change that ends the stolen session.
    PasswordChanges(UserId, ClientAddress),
    /// Logins with an identifier that no account has.
    WrongNames(LoginIdentifier, ClientAddress),
    /// Exports of an account that were started.
    Exports(UserId),
    /// Changes of any account's email address to this one, in its unique form: each sends a mail there.
    AddressChanges(String),
}

impl Counted {
    /// Returns the limit. It is the same for accounts and for names that no account has, so that a refusal does not
    /// reveal whether an account exists.
    pub fn limit(&self) -> Limit {
        match self {
            Self::Requests(_, most) | Self::AccountRequests(_, most) => Limit::per_minute(most.get()),
            Self::Logins(_) | Self::Registrations(_) | Self::Recoveries(_) => Limit::per_minute(60),
            Self::WrongPasswords(..) | Self::PasswordChanges(..) | Self::WrongNames(..) => Limit::per_minute(10),
            Self::Exports(_) => Limit { most: 1, period_seconds: 3600 },
            Self::AddressChanges(_) => MAILS_AN_HOUR,
        }
    }

    /// Returns whether no limit applies: clients on this machine are exempt from the limits that count by address alone.
    pub(super) fn is_exempt(&self) -> bool {
        match self {
            Self::Requests(client, _)
            | Self::Logins(client)
            | Self::Registrations(client)
            | Self::Recoveries(client) => client.is_loopback(),
            Self::AccountRequests(..) | Self::WrongPasswords(..) | Self::PasswordChanges(..) | Self::WrongNames(..) => {
                false
            }
            Self::Exports(_) | Self::AddressChanges(_) => false,
        }
    }
}

/// The number of events since the beginning of a window.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Window {
    /// When the window began.
    pub begun: Timestamp,
    /// The number of events since then.
    pub count: u32,
}

impl Window {
    /// Returns the window at `now`: the previous one if it has not ended, or else a new one. A new one also begins when the
    /// clock was set back, so that nobody waits longer than the limit's period.
    pub fn at(previous: Option<Self>, limit: Limit, now: Timestamp) -> Self {
        let is_current = |it: &Self| it.begun <= now && now < it.begun.plus_millis(limit.period_millis());
        previous.filter(is_current).unwrap_or(Self { begun: now, count: 0 })
    }

    /// Returns the window with one more event.
    #[must_use]
    pub fn with_one_more(self) -> Self {
        Self { count: self.count.saturating_add(1), ..self }
    }

    /// Returns what is left of the limit at `now`, an instant within the window.
    pub(super) fn allowance(self, limit: Limit, now: Timestamp) -> Allowance {
        let left = self.begun.plus_millis(limit.period_millis()).unix_millis().saturating_sub(now.unix_millis());
        Allowance {
            limit,
            remaining: limit.most.saturating_sub(self.count),
            reset_seconds: u32::try_from(left.max(0).unsigned_abs().div_ceil(1000)).unwrap_or(limit.period_seconds),
        }
    }
}

/// What is left of a limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Allowance {
    /// The limit.
    pub limit: Limit,
    /// How many more events are allowed before the window ends.
    pub remaining: u32,
    /// Seconds until a new window begins, rounded up.
    pub reset_seconds: u32,
}

impl Allowance {
    /// Returns an allowance of which nothing is left until the oldest event that counts is older than the limit's period.
    pub fn used_up(limit: Limit, oldest: Timestamp, now: Timestamp) -> Self {
        let left = oldest.plus_millis(limit.period_millis()).unix_millis().saturating_sub(now.unix_millis());
        let reset_seconds = u32::try_from(left.max(0).unsigned_abs().div_ceil(1000));
        Self { limit, remaining: 0, reset_seconds: reset_seconds.unwrap_or(limit.period_seconds) }
    }
}
