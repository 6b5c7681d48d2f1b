//! What an endpoint requires of a request before its handler is called.

/// Who may call an endpoint.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// Anybody, without a token.
    Public,
    /// Any account with a valid token, even one without a role.
    Account,
    /// An account with USER or ADMIN.
    Member,
    /// The same, and whoever has a ticket of one.
    MemberOrTicket,
    /// An account with ADMIN.
    Admin,
}

/// Whether requests of an endpoint may be repeated under an `Idempotency-Key`: those that create or toggle something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IdempotencySupport {
    /// They may not, or need none.
    None,
    /// They may. They have a JSON body, or none.
    Json,
    /// They may. They may carry an image.
    Image,
}

/// How often a client address may call an endpoint (contract, limits).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RateLimitClass {
    /// As often as it may log in.
    Login,
    /// As often as it may register.
    Registration,
    /// As often as it may ask for a new password, or present a token from a mail.
    Recovery,
}

/// What an endpoint requires of a request.
#[derive(Debug, Clone, Copy)]
pub(crate) struct EndpointPolicy {
    pub(crate) access: Access,
    pub(crate) path: &'static str,
    /// The name of its handler, with its module.
    pub(crate) operation: &'static str,
    pub(crate) idempotency: IdempotencySupport,
    pub(crate) rate_limit: Option<RateLimitClass>,
    /// Whether a replica of the database may answer.
    pub(crate) is_replicated: bool,
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
