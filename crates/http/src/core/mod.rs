//! What every other layer rests on: errors, the services and settings, the identity of requests and clients, and the
//! limits that are counted. It uses nothing else of this crate.

pub(crate) mod access;
mod capacity;
mod client_ip;
mod codes;
mod concurrency_limit;
mod error;
mod extractor;
mod limits;
mod log_sampler;
mod mac;
mod memory_budget;
mod request_context;
mod route;
pub(crate) mod schema;
pub(crate) mod security_headers;
mod state;
mod trusted_proxies;
pub(crate) mod weak_map;

pub(crate) use self::{
    access::{Access, EndpointPolicy, IdempotencySupport, RateLimitClass, is_health_probe},
    capacity::Capacity,
    client_ip::Client,
    codes::{ErrorCode, field_code, field_code_schema},
    concurrency_limit::{ConcurrencyLimit, Permit},
    error::{ApiError, Causes, FailureBody, RETRY_AFTER, sources},
    extractor::{extractor, shared},
    limits::{HEAD_LIMIT, JSON_LIMIT, LIMIT, write_allowance},
    log_sampler::{Failures, RejectionCounter},
    mac::Purpose,
    memory_budget::{MemoryBudget, MemoryPermit},
    request_context::RequestContext,
    route::{Paths, Target},
    schema::schema_variants,
    state::State,
    weak_map::WeakMap,
};
pub use self::{
    limits::LoadLimits,
    mac::MacKeys,
    state::{Services, Stopping},
    trusted_proxies::TrustedProxies,
};
