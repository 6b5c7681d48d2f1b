//! External linters: the schemas of Kubernetes and of compose files, and hadolint.

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

/// The oldest supported version of Kubernetes, and the newest with schemas.
const VERSIONS: [&str; 2] = ["1.30.0", "1.37.0"];

#[test]
fn kubernetes_resources_match_the_schemas() {
    // The file of kustomize is not a Kubernetes resource.
    let resources: Vec<_> =
        below("deploy/kubernetes").into_iter().filter(|path| !path.ends_with("/kustomization.yaml")).collect();
    assert!(resources.len() >= 6, "{resources:?}");
    for version in VERSIONS {
        let mut validate = program("kubernetes-validate");
        validate.args(["--strict", "--kubernetes-version", version]).args(resources.iter().map(|it| repository(it)));
        let output = succeed(&mut validate, WITHOUT_PYTHON);
        assert!(output.matches("passed for resource").count() >= resources.len(), "{output}");
    }
}

#[test]
fn the_compose_file_matches_the_specification() {
    let mut check = program("check-jsonschema");
    check.args(["--builtin-schema", "vendor.compose-spec"]).arg(repository("deploy/compose/compose.yaml"));
    succeed(&mut check, WITHOUT_PYTHON);
}

#[test]
fn hadolint_accepts_the_dockerfile() {
    succeed(program("hadolint").arg(repository("deploy/docker/Dockerfile")), WITHOUT_PYTHON);
}
