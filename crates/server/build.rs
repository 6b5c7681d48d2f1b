//! Puts the commit that a release is built from into its version.

#![forbid(unsafe_code)]

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

fn main() {
    // Only in a release: otherwise each commit would rebuild everything that depends on this crate.
    let is_release = env::var("PROFILE").is_ok_and(|profile| profile == "release");
    // The name must not begin with `AGORA_`, as settings do: `cargo run` passes these variables to the program.
    let commit = if is_release { commit_from_variable().or_else(commit) } else { None };
    println!("cargo::rustc-env=BUILT_FROM={}", commit.map(|commit| format!(" ({commit})")).unwrap_or_default());
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-env-changed={VARIABLE}");
}

/// The variable that names the commit in a build without the repository, such as that of the container image.
const VARIABLE: &str = "AGORA_COMMIT";

/// Returns the commit that the variable names, shortened to 12 digits. A value that is no commit hash is ignored.
fn commit_from_variable() -> Option<String> {
    let given = env::var(VARIABLE).ok()?.trim().to_owned();
    let is_hash = given.len() >= 12 && given.bytes().all(|byte| byte.is_ascii_hexdigit());
    given.get(..12).filter(|_| is_hash).map(str::to_owned)
}

/// Returns the commit of this repository, or `None` without git or if the sources are not in their own repository, as in an
/// unpacked archive.
fn commit() -> Option<String> {
    let root = Path::new(&env::var_os("CARGO_MANIFEST_DIR")?).join("../..").canonicalize().ok()?;
    if PathBuf::from(git(&root, &["rev-parse", "--show-toplevel"])?).canonicalize().ok()? != root {
        return None;
    }
    // The files that change with the commit: the head, the branch it names, or the packed branches.
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
