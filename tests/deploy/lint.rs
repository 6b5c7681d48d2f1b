//! What others check: the schemas of Kubernetes and of compose files, and a linter of container files.

use std::path::PathBuf;
use std::process::Command;
use std::sync::OnceLock;

use super::files::{below, repository};
use crate::python::{WITHOUT_PYTHON, environment, succeed};

fn program(name: &str) -> Command {
    static PROGRAMS: OnceLock<PathBuf> = OnceLock::new();
    let programs = PROGRAMS.get_or_init(|| environment("lint", &repository("tests/deploy/lint/requirements.txt")));
    Command::new(programs.join(name))
}

/// The oldest that the files are written for, and the newest that the schemas are of.
const VERSIONS: [&str; 2] = ["1.30.0", "1.37.0"];

#[test]
fn kubernetes_knows_every_field() {
    // What is read by kustomize is none of its resources.
    let resources: Vec<_> =
        below("deploy/kubernetes").into_iter().filter(|path| !path.ends_with("/kustomization.yaml")).collect();
    assert!(resources.len() >= 6, "{resources:?}");
    for version in VERSIONS {
        let mut validate = program("kubernetes-validate");
        validate.args(["--strict", "--kubernetes-version", version]).args(resources.iter().map(|it| repository(it)));
        let told = succeed(&mut validate, WITHOUT_PYTHON);
        assert!(told.matches("passed for resource").count() >= resources.len(), "{told}");
    }
}

#[test]
fn the_compose_file_keeps_to_the_specification() {
    let mut check = program("check-jsonschema");
    check.args(["--builtin-schema", "vendor.compose-spec"]).arg(repository("deploy/compose/compose.yaml"));
    succeed(&mut check, WITHOUT_PYTHON);
}

#[test]
fn the_linter_has_nothing_to_say_of_the_container_file() {
    succeed(program("hadolint").arg(repository("deploy/docker/Dockerfile")), WITHOUT_PYTHON);
}
