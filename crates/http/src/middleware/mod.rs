//! What happens before and after every handler. It uses what stands above it: `core`, `transport`, `request` and
//! `response`. The order in which it happens, and why, stands in
//! `lib.rs`.

mod account_concurrency;
pub(crate) mod authorize;
pub(crate) mod compress;
pub(crate) mod cors;
pub(crate) mod idempotency;
pub(crate) mod load_shedding;
pub mod metrics;
pub(crate) mod rate_limit;
pub(crate) mod request_log;

pub(crate) use self::{
    account_concurrency::{AccountConcurrency, AccountPermit},
    compress::{CompressionLimit, Precompressed},
    idempotency::Attempt,
    metrics::HttpMetrics,
    rate_limit::{RateLimiter, Refusals},
    request_log::{CancelledRequestGuard, RequestLog},
};
pub use self::{cors::CorsOrigins, rate_limit::Throttling};
