//! The image store: whether it takes an object, returns it and deletes it.

use std::path::Path;

use agora_domain::id::IdGenerator;
use agora_media::Probe;

use super::clock::Reference;
use super::directory::{is_ours, nearest};
use super::{Finding, data_dir, unknown};
use crate::open;
use crate::system::SystemIds;
use agora_config::{Loaded, SETTINGS};

const SUBJECT: &str = "images";

pub(super) async fn findings(loaded: &Loaded) -> (Vec<Finding>, Option<Reference>) {
    let not_clear = [&SETTINGS.media_url, &SETTINGS.data_dir].into_iter().find(|setting| !loaded.is_certain(setting));
    if let Some(setting) = not_clear {
        return (vec![unknown(SUBJECT, setting)], None);
    }
    let config = loaded.best_guess();
    let url = match open::media_url(config, &data_dir(config)) {
        Ok(url) => url,
        Err(error) => return (vec![Finding::failed(SUBJECT, format!("{error:#}: correct AGORA_DATA_DIR"))], None),
    };
    let mut reference = Reference::begin("the image store");
    // A name that no image has, and nobody else's doctor.
    let name = format!("agora-doctor-{}", SystemIds.generate().simple());
    let probed = agora_media::probe(&url, &name).await;
    let finding = match probed {
        Ok(Probe::Works(modified)) => {
            reference.end(modified);
            return (
                vec![Finding::ok(SUBJECT, "the store takes an object, returns it and deletes it")],
                Some(reference),
            );
        }
        Ok(Probe::Missing(directory)) => missing(&directory),
        Ok(Probe::Garbles) => {
            Finding::failed(SUBJECT, "the store returns something else than it was given: use another")
        }
        Ok(Probe::Fails(what, failure)) => {
            Finding::failed(SUBJECT, format!("cannot {what} there: {failure}: {ADVICE}"))
        }
        Err(error) => Finding::failed(SUBJECT, format!("{:#}: {ADVICE}", anyhow::Error::from(error))),
    };
    (vec![finding], None)
}

const ADVICE: &str = "correct AGORA_MEDIA_URL and, for S3, the AWS_* variables, or what they may do";

fn missing(directory: &Path) -> Finding {
    let shown = directory.display();
    match nearest(directory).filter(|above| above.is_dir() && is_ours(above)) {
        Some(_) => Finding::ok(SUBJECT, format!("{shown} is not there yet: the first start makes it")),
        None => Finding::failed(
            SUBJECT,
            format!("{shown} is not there and cannot be made: make it, for the user of the service"),
        ),
    }
}
