//! Message authentication codes (HMAC-SHA-256) of cursors, requests and catalog tags. Only the nodes of a service can compute
//! them.

use std::fmt;

use hmac::digest::Key;
use hmac::{Hmac, KeyInit, Mac};
use sha2::{Digest, Sha256};

/// What a MAC authenticates. A MAC of one purpose is not valid for another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// A position in a list.
    Cursor = 1,
    /// The content of a request.
    Request = 2,
    /// The data from which a response is rendered, for its `ETag`.
    Response = 3,
}

/// The keys of message authentication codes, derived one-way from the secret that the nodes of a service share.
#[derive(Clone)]
pub struct MacKeys {
    own: Hmac<Sha256>,
    accepted: Option<Hmac<Sha256>>,
}

impl MacKeys {
    /// Derives the key from the secret that the nodes share.
    pub fn new(secret: &[u8]) -> Self {
        Self { own: derive_key(secret), accepted: None }
    }

    /// Accepts MACs under another secret as well, while the nodes change from one secret to the other.
    #[must_use]
    pub fn accepting(self, secret: &[u8]) -> Self {
        Self { accepted: Some(derive_key(secret)), ..self }
    }

    /// Returns the MAC of the parts. It covers the length of each, so that parts cannot be split differently.
    pub(crate) fn mac<'a>(&self, purpose: Purpose, parts: impl IntoIterator<Item = &'a [u8]>) -> [u8; 32] {
        finalize(hmac_over(&self.own, purpose, parts))
    }

    /// Returns the MAC of the parts under the own secret, and under the accepted one, if there is one.
    pub(crate) fn macs<'a>(
        &self,
        purpose: Purpose,
        parts: impl IntoIterator<Item = &'a [u8]> + Clone,
    ) -> ([u8; 32], Option<[u8; 32]>) {
        let accepted = self.accepted.as_ref().map(|key| finalize(hmac_over(key, purpose, parts.clone())));
        (self.mac(purpose, parts), accepted)
    }

    /// Returns whether `given` is the MAC of the parts under either secret, possibly truncated.
    pub(crate) fn verify(&self, purpose: Purpose, parts: &[&[u8]], given: &[u8]) -> bool {
        let mut keys = [Some(&self.own), self.accepted.as_ref()].into_iter().flatten();
        keys.any(|key| hmac_over(key, purpose, parts.iter().copied()).verify_truncated_left(given).is_ok())
    }
}

fn hmac_over<'a>(key: &Hmac<Sha256>, purpose: Purpose, parts: impl IntoIterator<Item = &'a [u8]>) -> Hmac<Sha256> {
    let mut mac = key.clone();
    mac.update(&[purpose as u8]);
    for part in parts {
        mac.update(&(part.len() as u64).to_be_bytes());
        mac.update(part);
    }
    mac
}

fn finalize(mac: Hmac<Sha256>) -> [u8; 32] {
    mac.finalize().into_bytes().into()
}

fn derive_key(secret: &[u8]) -> Hmac<Sha256> {
    let mut derivation = keyed(secret);
    derivation.update(b"agora: codes of the interface");
    keyed(&derivation.finalize().into_bytes())
}

/// Creates a MAC keyed with the digest of a secret, so that a secret may have any length.
fn keyed(secret: &[u8]) -> Hmac<Sha256> {
    let mut key = Key::<Hmac<Sha256>>::default();
    for (byte, digested) in key.iter_mut().zip(Sha256::digest(secret)) {
        *byte = digested;
    }
    Hmac::new(&key)
}

impl fmt::Debug for MacKeys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("MacKeys")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mac_depends_on_the_secret_the_purpose_and_the_parts() {
        let code =
            |secret: &str, purpose, parts: &[&[u8]]| MacKeys::new(secret.as_bytes()).mac(purpose, parts.to_vec());
        let one = code("secret", Purpose::Cursor, &[b"ab", b"c"]);
        assert_eq!(one, code("secret", Purpose::Cursor, &[b"ab", b"c"]));
        for other in [
            code("other", Purpose::Cursor, &[b"ab", b"c"]),
            code("secret", Purpose::Request, &[b"ab", b"c"]),
            code("secret", Purpose::Cursor, &[b"a", b"bc"]),
            code("secret", Purpose::Cursor, &[b"abc"]),
        ] {
            assert_ne!(one, other);
        }
    }

    #[test]
    fn macs_under_the_accepted_secret_are_valid_and_new_ones_use_the_own_secret() {
        let made = |mac_keys: &MacKeys| mac_keys.mac(Purpose::Cursor, [b"ab".as_slice()]);
        let taken = |mac_keys: &MacKeys, code: &[u8]| mac_keys.verify(Purpose::Cursor, &[b"ab"], code);
        let [old, new, other] = ["old", "new", "other"].map(|secret| MacKeys::new(secret.as_bytes()));
        let both = new.clone().accepting(b"old");
        assert_eq!(made(&both), made(&new));
        let codes = |mac_keys: &MacKeys| mac_keys.macs(Purpose::Cursor, [b"ab".as_slice()]);
        assert_eq!(codes(&both), (made(&new), Some(made(&old))));
        assert_eq!(codes(&new), (made(&new), None));
        for (mac_keys, code, expected) in [
            (&both, made(&old), true),
            (&both, made(&new), true),
            (&both, made(&other), false),
            (&new, made(&old), false),
        ] {
            assert_eq!(taken(mac_keys, &code), expected);
            assert_eq!(taken(mac_keys, &code[..16]), expected, "its beginning");
        }
    }
}
