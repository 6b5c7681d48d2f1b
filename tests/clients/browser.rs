//! The web pages: the committed ones match their sources, and work in a browser.

use std::collections::BTreeMap;
use std::path::Path;
use std::{env, fs};

use super::repository;
use super::typescript::{copy, install, npm};
use crate::process::Home;

/// The names of the program on different distributions.
const BROWSERS: [&str; 3] = ["chromium", "chromium-browser", "google-chrome"];

#[test]
fn committed_pages_match_their_sources_and_work_in_a_browser() {
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
        let (built, committed) = (files(&web.join(page)), files(&repository("web").join(page)));
        assert!(built == committed, "web/{page} is stale: renew it with `just web`, or with\nscripts/web");
    }

    let path = env::var_os("PATH").unwrap();
    let mut paths = env::split_paths(&path).flat_map(|directory| BROWSERS.map(|name| directory.join(name)));
    let browser = paths.find(|path| path.exists()).expect("a browser is required: apt-get install chromium");
    let service = home.start_with_root();
    let mut test = home.program("npm");
    test.args(["test"]).current_dir(&web).env("CHROMIUM", browser);
    test.env("AGORA", format!("http://{}", service.address));
    if let Some(directory) = env::var_os("AGORA_RENEW_SCREENSHOTS") {
        test.env("SCREENSHOTS", directory);
    }
    crate::python::succeed(&mut test, "this needs playwright-core from the npm registry");
    service.stop();
}

/// Returns the contents of the files of a directory by name.
fn files(directory: &Path) -> BTreeMap<String, Vec<u8>> {
    let entries = fs::read_dir(directory).unwrap().map(Result::unwrap);
    entries.map(|it| (it.file_name().into_string().unwrap(), fs::read(it.path()).unwrap())).collect()
}
