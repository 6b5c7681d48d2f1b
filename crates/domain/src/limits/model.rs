//! What is counted, and how much of it is allowed.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::num::NonZeroU32;

use crate::accounts::LoginIdentifier;
use crate::clock::Timestamp;
use crate::id::UserId;

/// Where a client calls from, as far as limits tell clients apart: an IPv4 address, or the network of an IPv6 address,
/// of which one subscriber has all 2^64.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ClientAddress(IpAddr);

impl ClientAddress {
    /// How many bits of an IPv6 address name the network.
    const NETWORK_BITS: u32 = 64;

    /// The one that an address belongs to. An IPv4 address in the notation of IPv6 is an IPv4 address.
    pub fn of(address: IpAddr) -> Self {
        Self(match address.to_canonical() {
            // One address, in a network where nobody else is.
            loopback @ IpAddr::V6(Ipv6Addr::LOCALHOST) => loopback,
            IpAddr::V6(address) => {
                let host_bits = u128::BITS - Self::NETWORK_BITS;
                IpAddr::V6(Ipv6Addr::from_bits(address.to_bits() >> host_bits << host_bits))
            }
            address => address,
        })
    }

    /// Returns whether the client is on this machine.
    pub fn is_loopback(&self) -> bool {
        self.0.is_loopback()
    }
}

/// Who asks for expensive work, and so whose share of the queue for it is taken up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Requester {
    /// The account; `None` where no token is needed.
    pub account: Option<UserId>,
    /// Where the request comes from.
    pub address: ClientAddress,
}

impl Requester {
    /// Returns whoever asks from the machine itself and without an account, such as a command of the operator: held to no
    /// share.
    pub fn local() -> Self {
        Self { account: None, address: ClientAddress::of(Ipv4Addr::LOCALHOST.into()) }
    }
}

/// How often something may happen within a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limit {
    /// How often.
    pub most: u32,
    /// The time, in seconds.
    pub period_seconds: u32,
}

impl Limit {
    const fn a_minute(most: u32) -> Self {
        Self { most, period_seconds: 60 }
    }

    /// Returns the time in milliseconds.
    pub fn period_millis(self) -> i64 {
        i64::from(self.period_seconds) * 1000
    }
}

/// How many mails of a kind an account can ask for (`contract`: Account life), and how many changes to one address send a mail there.
pub const MAILS_AN_HOUR: Limit = Limit { most: 3, period_seconds: 3600 };

/// What is counted.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Counted {
    /// Requests from one address, of which the operator allows so many.
    Requests(ClientAddress, NonZeroU32),
    /// Requests of one account, wherever they come from, of which the operator allows so many.
    AccountRequests(UserId, NonZeroU32),
    /// Requests to log in.
    Logins(ClientAddress),
    /// Requests to register.
    Registrations(ClientAddress),
    /// Requests about a forgotten password or the token of a mail.
    Recoveries(ClientAddress),
    /// Wrong passwords of an account, whatever name it was given.
    WrongPasswords(UserId, ClientAddress),
    /// Changes of an account's password, whatever their outcome. Per address too, so that whoever has stolen a token
    /// cannot keep the owner from the change that ends its session.
    PasswordChanges(UserId, ClientAddress),
    /// Logins under a name that no account has.
    WrongNames(LoginIdentifier, ClientAddress),
    /// Exports of an account that were begun.
    Exports(UserId),
    /// Changes to an address, by its unique form, whichever accounts ask: each sends a mail there.
    AddressChanges(String),
}

impl Counted {
    /// Returns how much of it is allowed. Names that no account has are like accounts, so that a
    /// refusal does not tell the two apart.
    pub fn limit(&self) -> Limit {
        match self {
            Self::Requests(_, most) | Self::AccountRequests(_, most) => Limit::a_minute(most.get()),
            Self::Logins(_) | Self::Registrations(_) | Self::Recoveries(_) => Limit::a_minute(60),
            Self::WrongPasswords(..) | Self::PasswordChanges(..) | Self::WrongNames(..) => Limit::a_minute(10),
            Self::Exports(_) => Limit { most: 1, period_seconds: 3600 },
            Self::AddressChanges(_) => MAILS_AN_HOUR,
        }
    }

    /// Returns whether it is allowed without limit: what only counts by address is, from this machine itself.
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

/// How often something has happened since an instant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Window {
    /// When it began.
    pub begun: Timestamp,
    /// How often it has happened since.
    pub count: u32,
}

impl Window {
    /// The window at an instant: the one there was, while it lasts, or else a new one. A clock that was set back begins
    /// a new one too: nobody waits longer than the limit's period.
    pub fn at(previous: Option<Self>, limit: Limit, now: Timestamp) -> Self {
        let lasts = |it: &Self| it.begun <= now && now < it.begun.plus_millis(limit.period_millis());
        previous.filter(lasts).unwrap_or(Self { begun: now, count: 0 })
    }

    /// The window after it has happened once more.
    #[must_use]
    pub fn with_one_more(self) -> Self {
        Self { count: self.count.saturating_add(1), ..self }
    }

    /// Returns what is left at an instant within the window.
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
    /// How often it may still happen before the window ends.
    pub remaining: u32,
    /// Seconds until a new window begins, rounded up.
    pub reset_seconds: u32,
}

impl Allowance {
    /// Nothing is left of a limit, until the oldest of what counts no longer does.
    pub fn used_up(limit: Limit, oldest: Timestamp, now: Timestamp) -> Self {
        let left = oldest.plus_millis(limit.period_millis()).unix_millis().saturating_sub(now.unix_millis());
        let reset_seconds = u32::try_from(left.max(0).unsigned_abs().div_ceil(1000));
        Self { limit, remaining: 0, reset_seconds: reset_seconds.unwrap_or(limit.period_seconds) }
    }
}
