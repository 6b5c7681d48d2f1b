//! The addresses that the service is to listen at.

use super::{Finding, unknown};
use crate::listen::is_taken;
use agora_config::{Loaded, SETTINGS, Setting};

const SUBJECT: &str = "addresses";

pub(super) fn findings(loaded: &Loaded) -> Vec<Finding> {
    let config = loaded.best_guess();
    let addresses = [
        (&SETTINGS.listen, Some(config.listen.as_str())),
        (&SETTINGS.metrics_listen, config.metrics_listen.as_deref()),
    ];
    let finding = |(setting, address): (&Setting, Option<&str>)| match address {
        _ if !loaded.is_certain(setting) => Some(unknown(SUBJECT, setting)),
        address => Some(of_address(address?, setting)),
    };
    addresses.into_iter().filter_map(finding).collect()
}

fn of_address(address: &str, setting: &Setting) -> Finding {
    match is_taken(address, &setting.variable()) {
        Ok(false) => Finding::ok(SUBJECT, format!("{address} is free")),
        Ok(true) => Finding::ok(SUBJECT, format!("{address} is taken, by the service if that runs")),
        Err(error) => {
            Finding::failed(SUBJECT, format!("{error:#}: name one that this machine has and this user may use"))
        }
    }
}
