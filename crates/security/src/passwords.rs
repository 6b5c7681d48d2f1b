//! Password hashing with bcrypt.

use std::str::FromStr;

use agora_domain::accounts::{Password, PasswordAttempt, PasswordHash, PasswordHasher};
use agora_domain::limits::Requester;
use agora_domain::{Error, Result};
use agora_workers::{Capacity, Figures, Kind, Workers};
use async_trait::async_trait;
use bcrypt::HashParts;

/// Hashes passwords with bcrypt on threads of their own. The number of hashes that run and of those that wait is limited; of both
/// together, an account may have two and a client address a quarter, at least two. Further requests are refused at once.
pub struct BcryptHasher {
    cost: u32,
    dummy: PasswordHash,
    workers: Workers,
}

impl BcryptHasher {
    /// Creates a hasher with this cost (4 to 31, each step doubling the time). At most `parallel` hashes run at once, at least
    /// one, and `waiting` more may wait.
    pub fn new(cost: u32, parallel: usize, waiting: usize) -> Self {
        let kind = Kind { thread: "agora-hash", items: "passwords", done: "hashed" };
        // Two per account, so that one user may log in on two devices at once. A hash takes only a few kilobytes of memory.
        let capacity = Capacity { parallel, waiting, per_account: 2, memory: 0 };
        Self { cost, dummy: dummy(cost), workers: Workers::new(kind, capacity) }
    }

    /// Returns the current load and the totals since the start.
    pub fn figures(&self) -> Figures {
        self.workers.figures()
    }
}

/// Returns a well-formed hash that costs as much to verify as a real one. Salt and digest are all zeros (`.` in bcrypt's base
/// 64), so that it need not be computed. No password is known to have this hash, and a match would be ignored.
fn dummy(cost: u32) -> PasswordHash {
    PasswordHash::new(format!("$2b${cost:02}${}", ".".repeat(22 + 31)))
}

/// Returns whether the attempt is the hashed password. Computes exactly one hash in every case.
fn matches(attempt: &str, hash: &PasswordHash) -> Result<bool> {
    // bcrypt ignores everything after the 72nd byte or a NUL: such an attempt must not match, even if its beginning does.
    let is_whole = attempt.len() <= Password::MAX_BYTES && !attempt.contains('\0');
    let matches = bcrypt::verify(attempt, hash.as_str()).map_err(Error::internal)?;
    Ok(matches && is_whole)
}

#[async_trait]
impl PasswordHasher for BcryptHasher {
    async fn hash(&self, password: &Password, requester: &Requester) -> Result<PasswordHash> {
        let (password, cost) = (password.clone(), self.cost);
        // Not `non_truncating_hash`, which rejects exactly 72 bytes as well; no `Password` is longer than that.
        let hash = self.workers.run(requester, 0, move || bcrypt::hash(password.expose(), cost)).await?;
        hash.map(PasswordHash::new).map_err(Error::internal)
    }

    async fn verify(
        &self,
        attempt: &PasswordAttempt,
        hash: Option<PasswordHash>,
        requester: &Requester,
    ) -> Result<bool> {
        let is_known = hash.is_some();
        let (attempt, hash) = (attempt.clone(), hash.unwrap_or_else(|| self.dummy.clone()));
        let matches = self.workers.run(requester, 0, move || matches(attempt.expose(), &hash)).await??;
        Ok(matches && is_known)
    }

    fn needs_rehash(&self, hash: &PasswordHash) -> bool {
        HashParts::from_str(hash.as_str()).is_ok_and(|parts| parts.get_cost() < self.cost)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, mpsc};

    use agora_domain::id::UserId;
    use tokio::sync::oneshot;
    use tokio::task::JoinSet;
    use uuid::Uuid;

    use super::*;

    /// The lowest cost, to keep the tests fast.
    const COST: u32 = 4;

    fn hasher() -> BcryptHasher {
        BcryptHasher::new(COST, 2, 100)
    }

    fn password(text: &str) -> Password {
        Password::parse(text).unwrap()
    }

    fn attempt(text: &str) -> PasswordAttempt {
        PasswordAttempt::parse(text).unwrap()
    }

    fn local() -> Requester {
        Requester::local()
    }

    fn cost_of(hash: &PasswordHash) -> u32 {
        HashParts::from_str(hash.as_str()).unwrap().get_cost()
    }

    #[tokio::test]
    async fn only_the_right_password_matches_a_hash() {
        let hasher = hasher();
        let hash = hasher.hash(&password("correct horse"), &local()).await.unwrap();
        assert!(hasher.verify(&attempt("correct horse"), Some(hash.clone()), &local()).await.unwrap());
        for wrong in ["Correct horse", "correct horse ", "correct hors", "x"] {
            assert!(!hasher.verify(&attempt(wrong), Some(hash.clone()), &local()).await.unwrap(), "{wrong}");
        }
    }

    #[test]
    fn a_hash_of_lower_cost_needs_rehashing() {
        let hasher = BcryptHasher::new(10, 1, 0);
        for (cost, expected) in [(4, true), (9, true), (10, false), (11, false), (31, false)] {
            assert_eq!(hasher.needs_rehash(&dummy(cost)), expected, "{cost}");
        }
        assert!(!hasher.needs_rehash(&PasswordHash::new("no hash of bcrypt".to_owned())));
    }

    #[tokio::test]
    async fn every_hash_has_its_own_salt_and_the_configured_cost() {
        let hasher = BcryptHasher::new(5, 2, 100);
        let one = hasher.hash(&password("password"), &local()).await.unwrap();
        let other = hasher.hash(&password("password"), &local()).await.unwrap();
        assert!(one != other);
        assert_eq!((cost_of(&one), cost_of(&other)), (5, 5));
    }

    #[test]
    fn the_dummy_hash_has_the_configured_cost() {
        for cost in [4, 12, 31] {
            assert_eq!(cost_of(&BcryptHasher::new(cost, 1, 0).dummy), cost);
        }
        assert!(!matches("password", &dummy(COST)).unwrap());
    }

    #[tokio::test]
    async fn verifying_without_a_stored_hash_never_matches() {
        let mut hasher = hasher();
        // Even if somebody knew the password of the dummy.
        hasher.dummy = hasher.hash(&password("password"), &local()).await.unwrap();
        assert!(!hasher.verify(&attempt("password"), None, &local()).await.unwrap());
    }

    #[tokio::test]
    async fn all_72_bytes_are_significant_and_longer_attempts_never_match() {
        let hasher = hasher();
        let longest = "é".repeat(36);
        let hash = hasher.hash(&password(&longest), &local()).await.unwrap();
        for (tried, expected) in [
            (longest.clone(), true),
            (format!("{longest}x"), false),
            ("é".repeat(35), false),
            (format!("{}xx", "é".repeat(35)), false),
            (longest.repeat(1000), false),
        ] {
            assert_eq!(
                hasher.verify(&attempt(&tried), Some(hash.clone()), &local()).await.unwrap(),
                expected,
                "{tried}"
            );
        }
    }

    #[tokio::test]
    async fn an_attempt_with_nul_never_matches() {
        let hasher = hasher();
        let hash = hasher.hash(&password("password"), &local()).await.unwrap();
        // bcrypt repeats the key, separated by a NUL: for bcrypt, this is the same password.
        assert!(bcrypt::verify("password\0password", hash.as_str()).unwrap());
        for tried in ["password\0password", "password\0", "\0password"] {
            assert!(!hasher.verify(&attempt(tried), Some(hash.clone()), &local()).await.unwrap(), "{tried:?}");
        }
    }

    #[tokio::test]
    async fn a_malformed_stored_hash_is_an_internal_error() {
        for malformed in ["", "password", "$2b$04$short", "$1$04$....................................................."]
        {
            let failed =
                hasher().verify(&attempt("password"), Some(PasswordHash::new(malformed.to_owned())), &local()).await;
            assert!(matches!(failed, Err(Error::Internal(_))), "{malformed}");
        }
    }

    #[tokio::test]
    async fn hashing_and_verifying_are_refused_while_the_requesters_share_is_full() {
        let alice = Requester { account: Some(UserId::new(Uuid::nil())), ..local() };
        // One hash may run even if both limits are zero.
        for (hasher, requester, share) in
            [(BcryptHasher::new(COST, 0, 0), local(), 1), (BcryptHasher::new(COST, 2, 100), alice, 2)]
        {
            let hasher = Arc::new(hasher);
            let (mut taken, mut releases) = (JoinSet::new(), Vec::new());
            for _ in 0..share {
                let (hasher, (release, released), (start, started)) =
                    (Arc::clone(&hasher), mpsc::channel::<()>(), oneshot::channel());
                let work = move || start.send(()).is_ok() && released.recv().is_err();
                taken.spawn(async move { hasher.workers.run(&requester, 0, work).await });
                releases.push(release);
                started.await.unwrap();
            }
            let hashed = hasher.hash(&password("password"), &requester).await;
            assert!(matches!(hashed, Err(Error::Unavailable(_))), "{hashed:?}");
            let verified = hasher.verify(&attempt("password"), None, &requester).await;
            assert!(matches!(verified, Err(Error::Unavailable(_))), "{verified:?}");
            drop(releases);
            taken.join_all().await;
            assert!(hasher.hash(&password("password"), &requester).await.is_ok());
            assert!(hasher.verify(&attempt("password"), None, &requester).await.is_ok());
        }
    }
}
