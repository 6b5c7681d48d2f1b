//! Extreme points in time, which not every database can represent.

use crate::process::Home;
use crate::world::World;

#[tokio::test(flavor = "multi_thread")]
async fn the_feed_before_any_time_is_a_page_or_a_bad_request() {
    let home = Home::new();
    let service = home.start_with_root();
    let world = World::make(&service.api).await;
    let status = async |time: &str| {
        service.api.get(&world.bob, &format!("/api/posts/following/all?createAt={time}")).await.status
    };
    for time in [
        "0000-01-01",
        "0000-01-01T00:00:00%2B23:59",
        "0000-01-01T00:00:00Z",
        "9999-12-31",
        "9999-12-31T23:59:59.999999999-23:59",
    ] {
        assert_eq!(status(time).await, 200, "{time}");
    }
    for time in ["-9999-01-01", "-4714-01-01", "-0001-12-31", "10000-01-01", "%2B10000-01-01", "999999-01-01"] {
        assert_eq!(status(time).await, 400, "{time}");
    }
    service.stop();
}
