//! The middleware around every handler. It uses the layers below it: `core`, `transport`, `request` and `response`. `lib.rs`
//! has the order of the middleware, and its reasons.

mod account_concurrency;
pub(crate) mod authorize;
pub(crate) mod completion;
pub(crate) mod compress;
pub(crate) mod cors;
pub(crate) mod idempotency;
pub(crate) mod load_shedding;
pub mod metrics;
pub(crate) mod rate_limit;
pub(crate) mod request_log;
mod traffic;

pub(crate) use self::account_concurrency::{AccountConcurrency, AccountPermit};
pub(crate) use self::compress::{CompressionLimit, Precompressed};
pub use self::cors::CorsOrigins;
pub(crate) use self::idempotency::RequestAttempt;
pub(crate) use self::metrics::HttpMetrics;
pub use self::rate_limit::Throttling;
pub(crate) use self::rate_limit::{RateLimiter, Refusals};
pub use self::request_log::RemoteParent;
pub(crate) use self::request_log::{CancelledRequestGuard, RequestLog};
pub(crate) use self::traffic::{Minute, Traffic};
