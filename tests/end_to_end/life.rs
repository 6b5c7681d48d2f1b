//! Restarts: data written before a restart is there afterwards.

use reqwest::Method;

use crate::client::list;
use crate::process::{AGORA, Home, Service};
use crate::world::World;

#[tokio::test(flavor = "multi_thread")]
async fn a_restart_loses_nothing() {
    let home = Home::new();
    let service = home.start_with_root();
    let api = &service.api;
    let world = World::make(api).await;
    let feed = api.get(&world.bob, "/api/posts/following/all").await.expect(200).data();
    assert_eq!(list(&feed).len(), 1, "the private post is not in it: {feed}");
    let view = &list(&feed)[0];
    assert_eq!((view["likeCount"].as_u64(), view["commentCount"].as_u64()), (Some(1), Some(1)));
    let before = world.snapshot(api).await;
    service.stop();

    let service = home.start();
    let api = &service.api;
    // The tokens are still valid, since the signing secret is the same.
    assert_eq!(world.snapshot(api).await, before);
    world.expect_image(api).await;
    // And writes go on.
    api.call(&world.bob, Method::POST, &format!("/api/posts/like/{}", world.post)).await.expect(200);
    assert_eq!(api.view(&world.bob, &world.post).await["likeCount"], 0);
    api.post(&world.alice, "Another day", None).await;
    service.stop();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_signed_with_another_secret_is_refused() {
    let home = Home::new();
    let service = home.start();
    let alice = service.api.user("alice").await;
    service.stop();

    let service = home.start_with(&[("AGORA_JWT_SECRET", "another secret of at least 32 bytes")]);
    service.api.get(&alice, "/api/users/me").await.expect(401);
    let again = service.api.log_in("alice").await;
    service.api.get(&again, "/api/users/me").await.expect(200);
    service.stop();

    let service = home.start();
    service.api.get(&again, "/api/users/me").await.expect(401);
    service.api.get(&alice, "/api/users/me").await.expect(200);
    service.stop();
}

#[tokio::test(flavor = "multi_thread")]
async fn requests_succeed_if_the_log_cannot_be_written() {
    let home = Home::new();
    let agora = home.agora(&[]);
    let mut command = home.program("sh");
    command.args(["-c", "exec \"$0\" 2>/dev/full", AGORA]).env("AGORA_LOG", "debug");
    command.envs(agora.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let service = Service::start(command);
    let alice = service.api.user("alice").await;
    service.api.post(&alice, "Nobody hears of it", None).await;
    service.stop();
}
