//! The TypeScript client of `packages/typescript`, and the tour of the README with it.

use std::fs;
use std::path::Path;
use std::process::Command;

use super::repository;
use crate::process::Home;
use crate::python::succeed;

const WITHOUT_NODE: &str =
    "this needs Node.js 18.17 or newer with npm (apt-get install nodejs npm), and the npm registry";

#[test]
fn typescript_client_passes_its_tests_and_carries_out_the_tour() {
    let home = Home::new();
    copy(&home, "docs/openapi.json");
    copy(&home, "packages/typescript");
    copy(&home, "examples/typescript");
    let (client, tour) = (home.path("packages/typescript"), home.path("examples/typescript"));
    install(&home, &client);
    npm(&home, &client, &["test"]);
    let packed = npm(&home, &client, &["pack", "--ignore-scripts", "--dry-run"]);
    assert!(packed.contains("dist/index.d.ts") && !packed.contains("src/"), "{packed}");
    install(&home, &tour);
    npm(&home, &tour, &["run", "build"]);
    let service = home.start();
    let written = npm(&home, &tour, &["run", "tour", "--", &format!("http://{}", service.address)]);
    assert!(written.contains("1 post, 3 comments, 0 products; events: open, open, notification, feed\n"), "{written}");
    service.stop();
}

/// Copies a file or a directory of the repository, without `node_modules`, to the same path in a home directory.
pub(super) fn copy(home: &Home, path: &str) {
    let (source, target) = (repository(path), home.path(path));
    if source.is_file() {
        fs::create_dir_all(target.parent().unwrap()).unwrap();
        fs::copy(source, target).unwrap();
        return;
    }
    for entry in fs::read_dir(source).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        if name != "node_modules" {
            copy(home, &format!("{path}/{name}"));
        }
    }
}

/// Installs the dependencies of a package according to its lock file.
pub(super) fn install(home: &Home, directory: &Path) {
    npm(home, directory, &["ci", "--prefer-offline", "--no-audit", "--no-fund"]);
}

#[track_caller]
pub(super) fn npm(home: &Home, directory: &Path, arguments: &[&str]) -> String {
    let mut command: Command = home.program("npm");
    succeed(command.args(arguments).current_dir(directory), WITHOUT_NODE)
}
