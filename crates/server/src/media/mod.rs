//! The store of images, for the operator: `agora media check`.

mod check;
pub(crate) mod command;
