//! Checks whether the image store takes an object, returns it and deletes it.

use agora_config::{Loaded, SETTINGS};
use agora_domain::id::IdGenerator;
use agora_media::Probe;

use super::clock::Reference;
use super::directory::can_be_made;
use super::{Finding, absent, data_dir, failed, ok, unclear};
use crate::open;
use crate::system::SystemIds;

const ADVICE: &str = "correct AGORA_MEDIA_URL and, for S3, the AWS_* variables, or the permissions";

pub(super) async fn finding(loaded: &Loaded) -> (Finding, Option<Reference>) {
    if let Some(finding) = unclear(loaded, &[&SETTINGS.media_url, &SETTINGS.data_dir]) {
        return (finding, None);
    }
    let config = &loaded.best_guess;
    let url = match open::media_url(config, &data_dir(config)) {
        Ok(url) => url,
        Err(error) => return (failed(format!("{error:#}: correct AGORA_DATA_DIR")), None),
    };
    let mut reference = Reference::begin("the image store");
    // A name that no image has, nor the object of another check that runs at the same time.
    let name = format!("agora-doctor-{}", SystemIds.generate().simple());
    let finding = match agora_media::probe(&url, &name).await {
        Ok(Probe::Works(modified)) => {
            reference.end(modified);
            return (ok("objects can be written, read and deleted"), Some(reference));
        }
        Ok(Probe::Missing(directory)) => absent(directory.display(), can_be_made(&directory), "it"),
        Ok(Probe::Garbles) => failed("the store returns other data than was written: use another store"),
        Ok(Probe::Fails(what, failure)) => failed(format!("cannot {what} there: {failure}: {ADVICE}")),
        Err(error) => failed(format!("{:#}: {ADVICE}", anyhow::Error::from(error))),
    };
    (finding, None)
}
