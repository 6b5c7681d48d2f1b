//! `agora copy` of images.

use std::fs;
use std::path::PathBuf;

use crate::picture::picture;
use crate::place::{Deployment, copying, files};
use crate::process::{Home, run};

/// Puts files with names of images into the store of a deployment; returns their paths.
fn store(place: &Deployment, names: impl IntoIterator<Item = String>, content: &[u8]) -> Vec<PathBuf> {
    let put = |name: String| {
        let file = place.directory.join(&name[..2]).join(&name);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(&file, content).unwrap();
        file
    };
    names.into_iter().map(put).collect()
}

fn names(count: usize) -> impl Iterator<Item = String> {
    (0..count).map(|n| format!("{:02x}{n:030x}.png", n % 256))
}

fn media<'a>(from: &'a Deployment, to: &'a Deployment) -> [&'a str; 5] {
    ["copy", "--media-from", &from.media, "--media-to", &to.media]
}

#[test]
fn an_interrupted_copy_can_be_run_again_and_repairs_damaged_images() {
    let home = Home::new();
    let (first, bucket) = (Deployment::embedded(&home, "first"), Deployment::scaled(&home, "bucket"));
    let last = Deployment::embedded(&home, "last");
    let sources = store(&first, names(300), &picture());
    for (from, to) in [(&first, &bucket), (&bucket, &last)] {
        // A third of the images has been copied, one of them incompletely.
        let arrived = store(to, names(100), &picture());
        fs::write(&arrived[7], &picture()[..20]).unwrap();
        let copied = run(home.agora(&media(from, to)), "").expect_success();
        assert!(
            copied.stdout.contains("Copied 300 images") && copied.stdout.contains("99 of which already existed"),
            "{copied:?}"
        );
        for source in &sources {
            let target = to.directory.join(source.strip_prefix(&first.directory).unwrap());
            assert!(fs::read(&target).unwrap() == picture(), "{}", target.display());
        }
    }
    assert_eq!(files(&last.directory).len(), 300);
}

#[test]
fn a_target_with_other_images_is_refused_unless_they_are_allowed() {
    let home = Home::new();
    let (from, to) = (Deployment::embedded(&home, "from"), Deployment::embedded(&home, "to"));
    store(&from, names(3), &picture());
    let other = store(&to, ["ffffffffffffffffffffffffffffffff.png".to_owned()], b"other");
    run(home.agora(&media(&from, &to)), "").expect_refusal(&["images that the source lacks", "--replace"]);
    assert_eq!(files(&to.directory).len(), 1);
    run(home.agora(&[&media(&from, &to)[..], &["--replace"]].concat()), "").expect_success();
    assert_eq!(files(&to.directory).len(), 4);
    assert_eq!(fs::read(&other[0]).unwrap(), b"other");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_image_missing_in_the_source_is_named_and_must_be_allowed() {
    let home = Home::new();
    let (from, to) = (Deployment::embedded(&home, "from"), Deployment::embedded(&home, "to"));
    from.settle(&home).await;
    let lost = files(&from.directory).pop_first().unwrap();
    fs::remove_file(&lost).unwrap();
    let key = lost.rsplit('/').next().unwrap();
    let missing = format!("1 referenced images are missing: {key}");
    run(home.agora(&copying(&from, &to)), "").expect_refusal(&[&missing, "--allow-missing-images"]);
    to.expect_empty(&home).await;
    let to = Deployment::embedded(&home, "again");
    let allowing = [copying(&from, &to), vec!["--allow-missing-images"]].concat();
    let copied = run(home.agora(&allowing), "").expect_success();
    assert!(copied.stdout.contains(&format!("Warning: {missing}")), "{copied:?}");
}

#[test]
fn a_source_without_images_is_refused() {
    let home = Home::new();
    let (from, to) = (Deployment::embedded(&home, "from"), Deployment::scaled(&home, "to"));
    fs::create_dir_all(&from.directory).unwrap();
    run(home.agora(&media(&from, &to)), "").expect_refusal(&["the source image store is empty"]);
    run(home.agora(&media(&to, &from)), "").expect_refusal(&["the source image store is empty"]);
}
