//! The cases of posts.

mod changing;
mod lists;
mod paging;
mod reading;
mod tags;

pub use changing::*;
pub use lists::*;
pub use paging::*;
pub use reading::*;
pub use tags::*;
