//! Benchmarks of issuing and verifying tokens, and of authentication: `cargo bench -p agora-security`.

#![forbid(unsafe_code)]
#![allow(clippy::unwrap_used, missing_docs, reason = "a benchmark fails by panicking")]

use std::sync::Arc;
use std::time::Duration;

use agora_domain::accounts::{
    Authentication, MockAccountRepository, MockPasswordHasher, MockSessionRepository, PasswordChecks, Roles, Session,
    SessionState, TokenClaims, TokenIssuer, TokenLifetime,
};
use agora_domain::clock::{Clock, Timestamp};
use agora_domain::id::{MockIdGenerator, SessionId, UserId};
use agora_domain::limits::{Limits, MockCounters};
use agora_security::{CachedSessions, JwtIssuer};
use divan::Bencher;
use tokio::runtime::Builder;
use uuid::Uuid;

const NOW: Timestamp = Timestamp::from_unix_millis(1_752_539_094_124);
const CLAIMS: TokenClaims =
    TokenClaims { user: UserId::new(Uuid::from_u128(1)), session: SessionId::new(Uuid::from_u128(2)) };

/// A clock that stands still.
struct FixedClock;

impl Clock for FixedClock {
    fn now(&self) -> Timestamp {
        NOW
    }
}

/// A repository in which every session exists.
fn any_session() -> MockSessionRepository {
    let mut sessions = MockSessionRepository::new();
    sessions.expect_find().returning(|id| {
        let session = Session { id, user: CLAIMS.user, opened_at: NOW };
        Ok(Some(SessionState { session, revoked: false, enabled: true, roles: Roles::USER, last_seen_at: NOW }))
    });
    sessions
}

fn issuer() -> JwtIssuer {
    JwtIssuer::new(b"a secret of at least 32 bytes, as it should be", Duration::from_secs(3600))
}

#[divan::bench]
fn issue(bencher: Bencher) {
    let issuer = issuer();
    bencher.bench(|| issuer.issue(CLAIMS, NOW).unwrap());
}

#[divan::bench]
fn verify(bencher: Bencher) {
    let issuer = issuer();
    let token = issuer.issue(CLAIMS, NOW).unwrap();
    bencher.bench(|| issuer.verify(&token, NOW).unwrap());
}

/// Verifies a token and looks its session up in the cache.
#[divan::bench]
fn authenticate(bencher: Bencher) {
    let issuer = issuer();
    let token = issuer.issue(CLAIMS, NOW).unwrap();
    let authentication = Authentication {
        checks: PasswordChecks {
            accounts: Arc::new(MockAccountRepository::new()),
            passwords: Arc::new(MockPasswordHasher::new()),
            limits: Limits { counters: Arc::new(MockCounters::new()), clock: Arc::new(FixedClock) },
        },
        sessions: Arc::new(CachedSessions::new(Arc::new(any_session()), Arc::new(FixedClock))),
        tokens: Arc::new(issuer),
        token_lifetime: TokenLifetime::of_millis(3_600_000),
        clock: Arc::new(FixedClock),
        ids: Arc::new(MockIdGenerator::new()),
    };
    let runtime = Builder::new_current_thread().build().unwrap();
    bencher.bench_local(|| runtime.block_on(authentication.authenticate(&token)).unwrap());
}

fn main() {
    divan::main();
}
