//! Malicious and misbehaving clients: the service keeps serving others.

mod answers;
mod crowds;
mod framing;
mod heads;
mod mixed;
mod passwords;
mod pipelined;
mod raw;
mod slow;
mod stalled;
mod targets;
mod uploads;
