//! The pages for people: the committed ones are made of their sources, and work in a browser.

use std::collections::BTreeMap;
use std::path::Path;
use std::{env, fs};

use super::repository;
use super::typescript::{copy, install, npm};
use crate::process::Home;

/// What browsers of this kind are called.
const BROWSERS: [&str; 3] = ["chromium", "chromium-browser", "google-chrome"];

#[test]
fn the_pages_are_made_of_their_sources_and_work_in_a_browser() {
    let home = Home::new();
    copy(&home, "docs/openapi.json");
    copy(&home, "packages/typescript");
    copy(&home, "web");
    fs::remove_dir_all(home.path("web/dist")).unwrap();
    let (client, web) = (home.path("packages/typescript"), home.path("web"));
    install(&home, &client);
    npm(&home, &client, &["run", "build"]);
    install(&home, &web);
    npm(&home, &web, &["run", "build"]);
    for page in ["dist/app", "dist/console"] {
        let (made, committed) = (files(&web.join(page)), files(&repository("web").join(page)));
        assert!(made == committed, "web/{page} is stale: renew it with `just web`, or with\nscripts/web");
    }

    let path = env::var_os("PATH").unwrap();
    let mut places = env::split_paths(&path).flat_map(|place| BROWSERS.map(|name| place.join(name)));
    let browser = places.find(|place| place.exists()).expect("a browser is needed: apt-get install chromium");
    let service = home.start_with_root();
    let mut test = home.program("npm");
    test.args(["test"]).current_dir(&web).env("CHROMIUM", browser);
    test.env("AGORA", format!("http://{}", service.address));
    if let Some(directory) = env::var_os("AGORA_RENEW_SCREENSHOTS") {
        test.env("SCREENSHOTS", directory);
    }
    crate::python::succeed(&mut test, "the browser is driven by playwright-core, from npm's registry");
    service.stop();
}

/// The files of a directory, by their names.
fn files(directory: &Path) -> BTreeMap<String, Vec<u8>> {
    let entries = fs::read_dir(directory).unwrap().map(Result::unwrap);
    entries.map(|it| (it.file_name().into_string().unwrap(), fs::read(it.path()).unwrap())).collect()
}
