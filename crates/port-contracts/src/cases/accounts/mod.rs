//! The cases of accounts.

mod administration;
mod lists;
mod profiles;
mod registration;

pub use administration::*;
pub use lists::*;
pub use profiles::*;
pub use registration::*;
