//! What every other layer builds on: errors, the services and settings, the identity of requests and clients, and the
//! limits on concurrency and memory. It uses nothing else of this crate.

pub(crate) mod access;
mod capacity;
mod client_ip;
mod codes;
mod concurrency_limit;
mod effective_setting;
mod error;
mod extractor;
mod fields;
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

pub(crate) use self::access::{Access, EndpointPolicy, IdempotencySupport, RateLimitClass, is_health_probe};
pub(crate) use self::capacity::Capacity;
pub(crate) use self::client_ip::Client;
pub(crate) use self::codes::{ErrorCode, field_code, field_code_schema};
pub(crate) use self::concurrency_limit::{ConcurrencyLimit, Permit};
pub use self::effective_setting::EffectiveSetting;
pub(crate) use self::error::{ApiError, Causes, FailureBody, RETRY_AFTER};
pub(crate) use self::extractor::{extractor, shared};
pub(crate) use self::fields::{field_spelled, spelling};
pub use self::limits::LoadLimits;
pub(crate) use self::limits::{DRAIN_LIMIT, HEAD_LIMIT, JSON_LIMIT, LIMIT, MAX_PARTS, write_allowance};
pub(crate) use self::log_sampler::{LogSampler, RejectionCounter};
pub use self::mac::MacKeys;
pub(crate) use self::mac::Purpose;
pub(crate) use self::memory_budget::{MemoryBudget, MemoryPermit};
pub(crate) use self::request_context::{RequestContext, RequestId};
pub(crate) use self::route::{MatchedRoute, Paths};
pub(crate) use self::schema::schema_variants;
pub(crate) use self::state::{EventStream, FromReplica, MAX_CONCURRENT_REPLAYS, Replica, State};
pub use self::state::{ReplicaServices, Services, ShutdownFlag};
pub use self::trusted_proxies::TrustedProxies;
pub(crate) use self::weak_map::WeakMap;
