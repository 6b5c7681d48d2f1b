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
    /// An account with USER or ADMIN, by a token or by a ticket that was issued to it.
    MemberOrTicket,
    /// An account with ADMIN.
    Admin,
}

/// Whether an endpoint supports an `Idempotency-Key`, under which a request may be repeated. Those that create or toggle
/// something do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IdempotencySupport {
    /// The header is ignored: requests are idempotent by themselves, or may not be repeated.
    None,
    /// Supported, for a JSON body or none.
    Json,
    /// Supported, for a body that may carry an image.
    Image,
}

/// The rate limit of an endpoint for each client address (contract, limits), besides that of all requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RateLimitClass {
    /// The limit on logins.
    Login,
    /// The limit on registrations.
    Registration,
    /// The limit on requests for a new password and on tokens from mails.
    Recovery,
}

/// What an endpoint requires of a request.
#[derive(Debug, Clone, Copy)]
pub(crate) struct EndpointPolicy {
    pub(crate) access: Access,
    pub(crate) path: &'static str,
    /// The name of the handler, with its module.
    pub(crate) operation: &'static str,
    pub(crate) idempotency: IdempotencySupport,
    pub(crate) rate_limit: Option<RateLimitClass>,
    /// Whether the body may be a form, which may have a file.
    pub(crate) takes_form: bool,
    /// Whether a replica of the database may answer.
    pub(crate) is_replicated: bool,
}

/// The path of the liveness probe, which succeeds if the process responds.
pub(crate) const LIVENESS_PATH: &str = "/health/live";

/// The path of the readiness probe, which succeeds if the service can handle requests.
pub(crate) const READINESS_PATH: &str = "/health/ready";

/// Returns whether a path is that of a health probe. These are exempt from the limits on requests: operators must be able to
/// check the service when it is busy.
pub(crate) fn is_health_probe(path: &str) -> bool {
    path == LIVENESS_PATH || path == READINESS_PATH
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_exact_paths_of_the_probes_are_exempt_from_limits() {
        assert!([LIVENESS_PATH, READINESS_PATH].into_iter().all(is_health_probe));
        for other in ["/health", "/health/", "/health/live/", "/health/whatever", "/health/../api/posts/all", "/live"] {
            assert!(!is_health_probe(other), "{other}");
        }
    }
}
