//! The web client and the console: which files are served, and what they may load.

use reqwest::Method;
use reqwest::header::{
    ACCEPT_ENCODING, CACHE_CONTROL, CONTENT_ENCODING, CONTENT_SECURITY_POLICY, CONTENT_TYPE, LOCATION,
};

use crate::support::{PUBLIC_URL, Server};

const PAGES: [&str; 2] = ["app", "console"];

/// Returns the paths of the files that a page refers to.
async fn parts(server: &Server, name: &str) -> Vec<String> {
    let page = String::from_utf8(server.fetch(&format!("/{name}/")).await.expect(200).body).unwrap();
    assert!(!page.contains("<script>") && !page.contains("style="), "{page}");
    let parts = page.split('"').filter_map(|it| it.strip_prefix("./"));
    parts.map(|part| format!("/{name}/{part}")).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_page_is_revalidated_each_time_and_its_files_are_cached_forever() {
    let server = Server::start().await;
    for name in PAGES {
        let answer = server.fetch(&format!("/{name}")).await.expect(308);
        assert_eq!(answer.header(LOCATION), Some(format!("{name}/").as_str()));
        let page = server.fetch(&format!("/{name}/")).await.expect(200);
        assert_eq!(page.header(CONTENT_TYPE), Some("text/html; charset=utf-8"));
        assert_eq!(page.header(CACHE_CONTROL), Some("no-cache"));
        let parts = parts(&server, name).await;
        assert!(parts.len() >= 3, "{parts:?}");
        for path in parts {
            let part = server.fetch(&path).await.expect(200);
            let content_type = match path.rsplit('.').next().unwrap() {
                "css" => "text/css; charset=utf-8",
                "js" => "text/javascript; charset=utf-8",
                "svg" => "image/svg+xml",
                other => panic!("{other}"),
            };
            assert_eq!(part.header(CONTENT_TYPE), Some(content_type), "{path}");
            // Another spelling of the same file would be cached separately.
            for other in ["%2F", "%2F.", "%2F%2F", "/"] {
                server.fetch(&format!("{path}{other}")).await.expect(404);
            }
            assert_eq!(part.header(CACHE_CONTROL), Some("public, max-age=31536000, immutable"), "{path}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_scripts_of_the_first_view_are_small() {
    let server = Server::start().await;
    for name in PAGES {
        let mut bytes = 0;
        for path in parts(&server, name).await.iter().filter(|path| path.ends_with(".js")) {
            let answer =
                server.send(server.request(Method::GET, path).header(ACCEPT_ENCODING, "gzip")).await.expect(200);
            assert_eq!(answer.header(CONTENT_ENCODING), Some("gzip"), "{path}");
            bytes += answer.body.len();
        }
        assert!((1..=60 * 1024).contains(&bytes), "{name}: {bytes}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_security_policy_of_a_page_allows_only_its_own_files_and_the_image_host() {
    let policy = async |server: &Server, name: &str| {
        let answer = server.fetch(&format!("/{name}/")).await.expect(200);
        answer.header(CONTENT_SECURITY_POLICY).unwrap().to_owned()
    };
    let server = Server::start().await;
    let at_store = |config: &mut agora_config::Config| {
        config.media_public_url = Some("https://cdn.example.org/agora".to_owned());
    };
    let with_store = Server::start_with(at_store).await;
    for name in PAGES {
        let own = policy(&server, name).await;
        assert!(own.starts_with("default-src 'none'; script-src 'self'; style-src 'self'; "), "{own}");
        assert!(own.contains(&format!("img-src 'self' blob: {PUBLIC_URL};")), "{own}");
        assert!(!own.contains("unsafe"), "{own}");
        let policy = policy(&with_store, name).await;
        assert!(policy.contains("img-src 'self' blob: https://cdn.example.org;"), "{policy}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn unknown_files_of_a_page_are_not_found() {
    let server = Server::start().await;
    for path in ["/app/nothing.js", "/app/..%2fapp%2findex.html", "/app/a/b", "/console/..%2fapp%2findex.html"] {
        server.fetch(path).await.expect_error(404, "Route not found");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn each_page_can_be_disabled() {
    for name in PAGES {
        let off = |config: &mut agora_config::Config| match name {
            "app" => config.app = false,
            _ => config.console = false,
        };
        let server = Server::start_with(off).await;
        for path in [format!("/{name}"), format!("/{name}/"), format!("/{name}/index.html")] {
            server.fetch(&path).await.expect_error(404, "Route not found");
        }
        for other in PAGES.into_iter().filter(|other| *other != name) {
            server.fetch(&format!("/{other}/")).await.expect(200);
        }
    }
}
