//! A Python client that is generated as in `examples/python`.

use std::{env, fs};

use super::repository;
use crate::process::Home;
use crate::python::{WITHOUT_PYTHON, environment, succeed};

#[test]
fn generated_python_client_carries_out_the_tour() {
    let example = repository("examples/python");
    let programs = environment("python-client", &example.join("requirements.txt"));
    let home = Home::new();
    fs::copy(example.join("tour.py"), home.path("tour.py")).unwrap();
    let mut generate = home.program(programs.join("openapi-python-client").to_str().unwrap());
    generate.arg("generate").arg("--path").arg(repository("docs/openapi.json"));
    generate.args(["--output-path", "agora", "--meta", "none"]);
    // The generator runs a formatter from the PATH.
    let old = env::var_os("PATH").unwrap();
    let path = env::join_paths([programs.clone()].into_iter().chain(env::split_paths(&old))).unwrap();
    succeed(generate.env("PATH", path), WITHOUT_PYTHON);

    let service = home.start();
    let mut tour = home.program(programs.join("python").to_str().unwrap());
    let written = succeed(tour.args(["tour.py", &format!("http://{}", service.address)]), WITHOUT_PYTHON);
    assert_eq!(written, "1 post, 3 comments, 0 products\n");
    service.stop();
}
