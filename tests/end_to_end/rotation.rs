//! A new signing secret, without logging anybody out.

use reqwest::{Method, header::LINK};

use crate::{
    api::{Api, PASSWORD, User},
    process::{Home, Service},
};

const OLD: &str = "the secret that was used until now, long enough";
const NEW: &str = "the secret that is to be used from now on, too";

fn start(home: &Home, own: &str, accepted: &str) -> Service {
    home.start_with(&[("AGORA_JWT_SECRET", own), ("AGORA_JWT_ACCEPTED_SECRET", accepted)])
}

async fn status(api: &Api, user: &User, path: &str) -> u16 {
    api.get(user, path).await.status
}

#[tokio::test(flavor = "multi_thread")]
async fn a_new_secret_logs_nobody_out_while_the_old_one_is_accepted() {
    let home = Home::new();
    let service = start(&home, OLD, "");
    let old = service.api.user("alice").await;
    for n in 0..2 {
        service.api.post(&old, &format!("Post {n}"), None).await;
    }
    let list = service.api.request_as(&old, Method::GET, &format!("/api/posts/{}/all?size=1", old.id));
    let links = list.send().await.unwrap().headers()[LINK].to_str().unwrap().to_owned();
    let next = links.strip_prefix(&format!("<{}", service.api.url())).unwrap().split('>').next().unwrap();
    service.stop();

    let service = start(&home, NEW, OLD);
    assert_eq!(status(&service.api, &old, "/api/users/me").await, 200);
    assert_eq!(status(&service.api, &old, next).await, 200, "a cursor of before");
    let new = service.api.log_in("alice").await;
    let shown = format!("{}{:?}", service.log(), service.stop());
    assert!(![OLD, NEW, PASSWORD].iter().any(|secret| shown.contains(secret)), "{shown}");

    let service = start(&home, NEW, "");
    assert_eq!(status(&service.api, &new, "/api/users/me").await, 200);
    assert_eq!(status(&service.api, &old, "/api/users/me").await, 401);
    assert_eq!(status(&service.api, &new, next).await, 400);
    service.stop();
}
