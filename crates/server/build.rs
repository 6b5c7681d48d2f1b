//! Which commit the program says that it is built from.

#![forbid(unsafe_code)]

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

fn main() {
    // Only a release says it: otherwise each commit would have everything built again that includes this crate.
    let is_release = env::var("PROFILE").is_ok_and(|profile| profile == "release");
    // Not under the name of a setting: `cargo run` gives the program what it was built with.
    let commit = if is_release { given_commit().or_else(commit) } else { None };
    println!("cargo::rustc-env=BUILT_FROM={}", commit.map(|commit| format!(" ({commit})")).unwrap_or_default());
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-env-changed={VARIABLE}");
}

/// Names the commit to a build that has the sources without their repository, as that of the image.
const VARIABLE: &str = "AGORA_COMMIT";

/// Returns the commit that whoever builds names. What is no number of a commit is left out, not to be taken for one.
fn given_commit() -> Option<String> {
    let given = env::var(VARIABLE).ok()?.trim().to_owned();
    let is_number = given.len() >= 12 && given.bytes().all(|byte| byte.is_ascii_hexdigit());
    given.get(..12).filter(|_| is_number).map(str::to_owned)
}

/// Returns the commit of the repository that has this crate where it is; nothing without git or outside of one, as in
/// an archive of the sources.
fn commit() -> Option<String> {
    let root = Path::new(&env::var_os("CARGO_MANIFEST_DIR")?).join("../..").canonicalize().ok()?;
    if PathBuf::from(git(&root, &["rev-parse", "--show-toplevel"])?).canonicalize().ok()? != root {
        return None;
    }
    // What changes with the commit: the head, the branch it names, or the file of all branches.
    let branch = git(&root, &["rev-parse", "--symbolic-full-name", "HEAD"])?;
    for name in ["HEAD", &branch, "packed-refs"] {
        let file = root.join(git(&root, &["rev-parse", "--git-path", name])?);
        if file.exists() {
            println!("cargo::rerun-if-changed={}", file.display());
        }
    }
    git(&root, &["rev-parse", "--short=12", "HEAD"])
}

fn git(directory: &Path, arguments: &[&str]) -> Option<String> {
    let done = Command::new("git").arg("-C").arg(directory).args(arguments).output().ok()?;
    let text = String::from_utf8(done.stdout).ok()?;
    done.status.success().then(|| text.trim().to_owned()).filter(|text| !text.is_empty())
}
