//! The cases of posts, by what they show.

mod changing;
mod lists;
mod paging;
mod reading;

pub use changing::*;
pub use lists::*;
pub use paging::*;
pub use reading::*;
