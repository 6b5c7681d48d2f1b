//! What every other layer rests on: errors, the services and settings, the identity of requests and clients, and the
//! limits that are counted. It uses nothing else of this crate.

pub(crate) mod access;
pub(crate) mod capacity;
pub(crate) mod client_ip;
pub(crate) mod codes;
pub(crate) mod concurrency_limit;
pub(crate) mod error;
pub(crate) mod limits;
pub(crate) mod log_sampler;
pub(crate) mod mac;
pub(crate) mod memory_budget;
pub(crate) mod request_context;
pub(crate) mod route;
pub(crate) mod schema;
pub(crate) mod security_headers;
pub(crate) mod state;
pub(crate) mod trusted_proxies;
pub(crate) mod weak_map;
