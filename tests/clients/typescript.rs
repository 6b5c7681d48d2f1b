//! A client in TypeScript, made from the document as `examples/typescript` shows it.

use std::fs;
use std::path::Path;
use std::process::Command;

use super::repository;
use crate::process::Home;
use crate::python::succeed;

const WITHOUT_NODE: &str =
    "the example needs Node.js 18.17 or newer with npm: apt-get install nodejs npm, then npm's registry";

#[test]
fn a_client_made_from_the_document_goes_the_tour_of_the_readme() {
    let home = Home::new();
    // As in the repository, since the example takes the document from there.
    let example = home.path("examples/typescript");
    fs::create_dir_all(&example).unwrap();
    for file in ["events.ts", "generate.mjs", "package.json", "package-lock.json", "tour.ts", "tsconfig.json"] {
        fs::copy(repository("examples/typescript").join(file), example.join(file)).unwrap();
    }
    fs::create_dir(home.path("docs")).unwrap();
    fs::copy(repository("docs/openapi.json"), home.path("docs/openapi.json")).unwrap();

    npm(&home, &example, &["ci", "--prefer-offline", "--no-audit", "--no-fund"]);
    npm(&home, &example, &["run", "generate"]);
    npm(&home, &example, &["run", "build"]);
    let service = home.start();
    let written = npm(&home, &example, &["run", "tour", "--", &format!("http://{}", service.address)]);
    assert!(written.contains("1 post, 3 comments, 0 products; events: open, open, notification, feed\n"), "{written}");
    service.stop();
}

#[track_caller]
fn npm(home: &Home, directory: &Path, arguments: &[&str]) -> String {
    let mut command: Command = home.program("npm");
    succeed(command.args(arguments).current_dir(directory), WITHOUT_NODE)
}
