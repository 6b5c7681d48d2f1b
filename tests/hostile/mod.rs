//! Clients that mean harm, or do it: the service goes on.

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
