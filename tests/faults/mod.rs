//! What goes wrong around the service: its database goes away, hangs or is overrun, its disk is full, and other nodes
//! work beside it.

mod contention;
mod disk_full;
mod failover;
mod honest;
mod load;
mod network;
mod nodes;
mod overload;
mod pooler;
mod replica;
mod restart;
