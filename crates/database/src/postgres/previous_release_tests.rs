//! What statements of nodes of the previous release do to data that it does not know: several images of a post, and thumbnails of
//! profile pictures.

use agora_domain::accounts::ProfilePicture;
use agora_domain::media::{ImageFormat, ImageKey, Rendition};
use uuid::Uuid;

use super::tests::{HANG, fresh, id, write};
use super::*;

/// Stores two posts that have three images each, runs a statement of such a node, and then assertions about what is left.
async fn run_on_stored_posts(statement: &str, assertions: &str) {
    let url = tokio::task::spawn_blocking(private_postgres::fresh_database).await.unwrap();
    let database = Postgres::open(Opening::Serve, &url, &Options::default()).await.unwrap();
    let (user, post, other) = (id(1, 1).0, id(2, 1).0, id(2, 2).0);
    let stored = format!(
        "INSERT INTO users VALUES ('{user}', 'u', 'u', 'e', 'e', '', NULL, NULL, false, true, true, now());
        INSERT INTO posts (id, author_id, content, image, attachments, visibility, created_at, updated_at, like_count, comment_count)
            VALUES ('{post}', '{user}', 'text', 'a1', '[1]', 0, now(), now(), 0, 0),
                ('{other}', '{user}', 'text', 'b1', '[2]', 0, now(), now(), 0, 0);
        INSERT INTO post_images (post_id, position, key)
            VALUES ('{post}', 1, 'a2'), ('{post}', 2, 'a3'), ('{other}', 1, 'b2'), ('{other}', 2, 'b3')"
    );
    write(&database, stored).await.unwrap();
    let statement = statement.replace("{post}", &format!("'{post}'"));
    let of_other = "(SELECT array_agg(key ORDER BY key) FROM post_images) = ARRAY['b2', 'b3']";
    write(&database, statement).await.unwrap();
    let assertions = assertions.replace("{post}", &format!("'{post}'")).replace("{of_other}", of_other);
    write(&database, format!("DO $$ BEGIN {assertions} END $$")).await.unwrap();
}

const OTHER_IMAGES_UNREFERENCED: &str = "ASSERT {of_other};
    ASSERT (SELECT array_agg(key ORDER BY key) FROM unnamed_images WHERE NOT condemned) = ARRAY['a2', 'a3'];";

#[tokio::test(flavor = "multi_thread")]
async fn deleting_a_post_makes_all_its_images_unreferenced() {
    run_on_stored_posts("DELETE FROM posts WHERE id = {post}", OTHER_IMAGES_UNREFERENCED).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn changing_the_image_of_a_post_makes_its_other_images_unreferenced() {
    for image in ["'c1'", "NULL"] {
        let assertions =
            format!("{OTHER_IMAGES_UNREFERENCED} ASSERT (SELECT attachments IS NULL FROM posts WHERE id = {{post}});");
        run_on_stored_posts(&format!("UPDATE posts SET image = {image} WHERE id = {{post}}"), &assertions).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn other_changes_of_a_post_leave_its_images() {
    let statement = "UPDATE posts SET content = 'other', image = 'a1', like_count = 1 WHERE id = {post}";
    let assertions = "ASSERT (SELECT count(*) FROM post_images) = 4; ASSERT NOT EXISTS (SELECT FROM unnamed_images);
        ASSERT (SELECT attachments = '[1]' FROM posts WHERE id = {post});";
    run_on_stored_posts(statement, assertions).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_new_profile_picture_is_shown_in_full_until_its_thumbnail_is_made() {
    let database = fresh(HANG).await;
    let [old, new] = [1, 2].map(|n| ImageKey::new([n; 16], ImageFormat::Png));
    let user = id(1, 1);
    let columns = format!("'{}', 'u', 'u', 'e', 'e', '', NULL, '{}', false, true, true, now()", user.0, old.as_str());
    write(&database, format!("INSERT INTO users VALUES ({columns})")).await.unwrap();
    let small = old.file_name(Rendition::Thumbnail);
    let thumbnail = format!("UPDATE users SET small_picture = '{small}'");
    write(&database, thumbnail).await.unwrap();
    let shown = async || {
        let row = database.read(move |conn| Box::pin(queries::accounts::find(conn, user))).await.unwrap().unwrap();
        row.account().unwrap().profile_picture.unwrap()
    };
    let next = async || {
        let last = DbId(Uuid::max());
        database.read(move |conn| Box::pin(queries::images::without_small_picture(conn, last))).await.unwrap()
    };
    assert_eq!((shown().await, next().await), (ProfilePicture::new(old), None));

    write(&database, format!("UPDATE users SET profile_picture = '{}'", new.as_str())).await.unwrap();
    assert_eq!(next().await, Some((user, new.as_str().to_owned())));
    assert_eq!(shown().await, ProfilePicture { key: new, small: Rendition::Original });
}
