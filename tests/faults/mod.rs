//! Faults of what the service depends on: the database fails, hangs or is overloaded, the disk is full. And two nodes that share
//! a database.

mod contention;
mod disk_full;
mod failover;
mod load;
mod network;
mod nodes;
mod overload;
mod pooler;
mod replica;
mod responses;
mod restart;
