//! Programs from PyPI, in a virtual environment that is created once for each set of requirements.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The message if Python is missing.
pub(crate) const WITHOUT_PYTHON: &str =
    "this needs Python 3.11 or newer with venv: apt-get install python3-venv, then the registry of Python";

/// Returns the directory of programs of an environment in which the requirements are installed. The programs contain the path of
/// the environment, so it cannot be moved.
pub(crate) fn environment(name: &str, requirements: &Path) -> PathBuf {
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let wanted = format!("# {}\n{}", directory.display(), fs::read_to_string(requirements).unwrap());
    // Written last: an environment without this file is incomplete.
    let installed = directory.join("requirements.txt");
    if !fs::read_to_string(&installed).is_ok_and(|installed| installed == wanted) {
        succeed(Command::new("python3").args(["-m", "venv", "--clear"]).arg(&directory), WITHOUT_PYTHON);
        let mut install = Command::new(directory.join("bin/python"));
        install.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps", "--requirement"]);
        succeed(install.arg(requirements), WITHOUT_PYTHON);
        fs::write(installed, wanted).unwrap();
    }
    directory.join("bin")
}

/// Runs a command, which must succeed, and returns its output.
#[track_caller]
pub(crate) fn succeed(command: &mut Command, without_it: &str) -> String {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}; {without_it}"));
    let written = [output.stdout, output.stderr].map(|it| String::from_utf8_lossy(&it).into_owned()).concat();
    assert!(output.status.success(), "{command:?} ended with {}; {without_it}\n{written}", output.status);
    written
}
