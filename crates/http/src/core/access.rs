//! What an endpoint asks of a request before its handler is called.

/// Who may call an endpoint.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// Anybody, without a token.
    Public,
    /// Any account with a valid token, even one without a role.
    Account,
    /// An account with USER or ADMIN.
    Member,
    /// An account with ADMIN.
    Admin,
}

/// Whether requests of an endpoint may be sent again under an `Idempotency-Key`: those that create or toggle something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TakesKey {
    /// They may not, or need none.
    No,
    /// They may. They have a JSON body, or none.
    WithJson,
    /// They may. They may carry an image.
    WithImage,
}

/// How often a client address may call an endpoint (contract, limits).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Limited {
    /// As often as it may log in.
    Login,
    /// As often as it may register.
    Registration,
}

/// What an endpoint asks of a request.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Rule {
    pub(crate) access: Access,
    pub(crate) path: &'static str,
    pub(crate) takes_key: TakesKey,
    pub(crate) limited: Option<Limited>,
}

/// The path of the probe that tells whether the process answers.
pub(crate) const LIVENESS_PATH: &str = "/health/live";

/// The path of the probe that tells whether the service can do its work.
pub(crate) const READINESS_PATH: &str = "/health/ready";

/// Returns whether a path is that of a health probe, which no limit on requests keeps out: who looks after the service
/// must learn how it is when it is busy.
pub(crate) fn is_health_probe(path: &str) -> bool {
    path == LIVENESS_PATH || path == READINESS_PATH
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_probes_themselves_are_beyond_limits() {
        assert!([LIVENESS_PATH, READINESS_PATH].into_iter().all(is_health_probe));
        for other in ["/health", "/health/", "/health/live/", "/health/whatever", "/health/../api/posts/all", "/live"] {
            assert!(!is_health_probe(other), "{other}");
        }
    }
}
