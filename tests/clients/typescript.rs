//! The client in TypeScript of `packages/typescript`, and the tour that goes with it.

use std::fs;
use std::path::Path;
use std::process::Command;

use super::repository;
use crate::process::Home;
use crate::python::succeed;

const WITHOUT_NODE: &str =
    "the client needs Node.js 18.17 or newer with npm: apt-get install nodejs npm, then npm's registry";

#[test]
fn the_client_keeps_its_promises_and_goes_the_tour_of_the_readme() {
    let home = Home::new();
    // As in the repository, since the one finds the other and the document there.
    let copy = |files: &[&str]| {
        for file in files {
            let target = home.path(file);
            fs::create_dir_all(target.parent().unwrap()).unwrap();
            fs::copy(repository(file), target).unwrap();
        }
    };
    copy(&["docs/openapi.json"]);
    for directory in ["packages/typescript", "packages/typescript/src", "packages/typescript/test", "examples/typescript"] {
        for entry in fs::read_dir(repository(directory)).unwrap() {
            let entry = entry.unwrap();
            if entry.file_type().unwrap().is_file() {
                copy(&[&format!("{directory}/{}", entry.file_name().to_str().unwrap())]);
            }
        }
    }

    let client = home.path("packages/typescript");
    npm(&home, &client, &["ci", "--prefer-offline", "--no-audit", "--no-fund"]);
    npm(&home, &client, &["test"]);
    let packed = npm(&home, &client, &["pack", "--ignore-scripts", "--dry-run"]);
    assert!(packed.contains("dist/index.d.ts") && !packed.contains("src/"), "{packed}");
    let tour = home.path("examples/typescript");
    npm(&home, &tour, &["ci", "--prefer-offline", "--no-audit", "--no-fund"]);
    npm(&home, &tour, &["run", "build"]);
    let service = home.start();
    let written = npm(&home, &tour, &["run", "tour", "--", &format!("http://{}", service.address)]);
    assert!(written.contains("1 post, 3 comments, 0 products; events: open, open, notification, feed\n"), "{written}");
    service.stop();
}

#[track_caller]
fn npm(home: &Home, directory: &Path, arguments: &[&str]) -> String {
    let mut command: Command = home.program("npm");
    succeed(command.args(arguments).current_dir(directory), WITHOUT_NODE)
}
