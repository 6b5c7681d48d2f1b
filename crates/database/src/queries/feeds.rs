pub(crate) use super::views::read_at as read;
pub(crate) use super::{feed_positions as positions, load_feed as load, read_with_changes};
