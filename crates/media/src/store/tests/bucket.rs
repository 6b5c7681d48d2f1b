//! Tests of images in a bucket, on a server that speaks the protocol of S3.

use agora_domain::error::Cause;
use agora_domain::health::Probe;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpListener;
use tokio::time;
use tokio::time::Instant;

use super::*;

async fn serve(url: &str) -> (S3Server, Store) {
    let server = S3Server::start();
    server.make_bucket(BUCKET);
    let store = bucket(&server, url).await;
    (server, store)
}

/// Asserts that every operation of the store fails as unavailable; returns the causes as they are logged.
async fn expect_unavailable(store: &ObjectImageStore, key: &ImageKey) -> Vec<Cause> {
    let listed: Result<Vec<_>> = store.list().await.unwrap().try_collect().await;
    let outcomes = [
        put(store, "0123456789").await.map(|_| ()),
        store.open(key, Rendition::Original, None).await.map(|_| ()),
        store.open(key, Rendition::Original, Some(ByteRange::From(0))).await.map(|_| ()),
        store.delete(key).await,
        listed.map(|_| ()),
        store.probe().await,
    ];
    let causes = outcomes.into_iter().map(|outcome| match outcome {
        Err(Error::Unavailable(cause)) => cause,
        other => panic!("{other:?}"),
    });
    causes.collect()
}

#[tokio::test]
async fn stores_with_different_prefixes_are_separate() {
    let (server, (whole, _)) = serve("s3://agora").await;
    let (one, _) = bucket(&server, "s3://agora/one").await;
    let (other, _) = bucket(&server, "s3://agora/other").await;
    let key = put(&one, "0123456789").await.unwrap();
    for store in [&one, &other, &whole] {
        store.probe().await.unwrap();
    }
    for store in [&other, &whole] {
        assert!(store.open(&key, Rendition::Original, None).await.unwrap().is_none());
        store.delete(&key).await.unwrap();
        assert!(keys(store).await.is_empty());
    }
    assert_eq!(keys(&one).await, HashSet::from([key]));
}

#[tokio::test]
async fn a_listing_continues_past_its_first_page() {
    const COUNT: u128 = 1_100;
    let (server, (store, _)) = serve("s3://agora/images").await;
    let folder = server.bucket(BUCKET).join("images/ab");
    fs::create_dir_all(&folder).unwrap();
    for n in 0..COUNT {
        fs::write(folder.join(format!("ab{n:030x}.png")), "x").unwrap();
    }
    assert_eq!(keys(&store).await.len(), usize::try_from(COUNT).unwrap());
}

#[tokio::test]
async fn an_object_is_stored_with_media_type_and_caching_headers() {
    let (_server, (store, objects)) = serve("s3://agora").await;
    let key = put(&store, "0123456789").await.unwrap();
    store.put(&key, Rendition::Thumbnail, "thumbnail".into()).await.unwrap();
    for (rendition, media_type) in [(Rendition::Original, "image/webp"), (Rendition::Thumbnail, "image/jpeg")] {
        let attributes = objects.get(&path_of(&key, rendition)).await.unwrap().attributes;
        assert_eq!(attributes.get(&Attribute::ContentType).map(AsRef::as_ref), Some(media_type));
        assert!(attributes.get(&Attribute::CacheControl).is_some_and(|value| value.contains("immutable")));
    }
}

#[tokio::test]
async fn wrong_credentials_make_the_store_unavailable_and_no_secret_is_shown() {
    const GUESS: &str = "a wrong guess";
    let (server, (store, _)) = serve("s3://agora").await;
    let key = put(&store, "0123456789").await.unwrap();
    let variables = server.variables().into_iter().chain([("AWS_SECRET_ACCESS_KEY".to_owned(), GUESS.to_owned())]);
    let stranger = ObjectImageStore::new(bucket_objects("s3://agora", variables).await.unwrap());
    for cause in expect_unavailable(&stranger, &key).await {
        let text = format!("{cause} {cause:?}");
        assert!(text.contains("403") && !text.contains(GUESS) && !text.contains('<'), "{text}");
    }
    assert_eq!(keys(&store).await, HashSet::from([key]));
}

/// Starts a server that sends the same response to every request; returns the variables that lead to it.
async fn serve_response(status: &str, body: &str) -> [(String, String); 3] {
    let response = format!("HTTP/1.1 {status}\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}", body.len());
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        loop {
            let (stream, _) = listener.accept().await.unwrap();
            let mut stream = BufReader::new(stream);
            let mut line = String::new();
            while stream.read_line(&mut line).await.is_ok_and(|read| read > 2) {
                line.clear();
            }
            // The client may close the connection before it has read everything.
            let _ = stream.write_all(response.as_bytes()).await;
        }
    });
    let variables = [
        ("AWS_ENDPOINT_URL", &*format!("http://{address}")),
        ("AWS_ACCESS_KEY_ID", "agora"),
        ("AWS_SECRET_ACCESS_KEY", "secret"),
    ];
    variables.map(|(name, value)| (name.to_owned(), value.to_owned()))
}

#[tokio::test]
async fn errors_repeat_little_of_a_server_response() {
    let document = "<Error><Code>ExpiredToken</Code><Message>It expired.</Message><Token-0>hunter2</Token-0></Error>";
    for (status, body, expected) in [
        ("403 Forbidden", "x-amz-security-token: hunter2\n\u{1b}[2J", "GET returned 403 Forbidden"),
        ("400 Bad Request", &*"hunter2 ".repeat(200_000), "GET returned 400 Bad Request"),
        ("403 Forbidden", document, "GET returned 403 Forbidden: ExpiredToken: It expired."),
        ("200 OK", "<ListBucketResult><hunter2></ListBucketResult>", "Generic S3 error: "),
    ] {
        let variables = serve_response(status, body).await;
        let store = ObjectImageStore::new(bucket_objects("s3://agora", variables.into_iter()).await.unwrap());
        let listed: Result<Vec<_>> = store.list().await.unwrap().try_collect().await;
        let Err(Error::Unavailable(cause)) = listed else { panic!("{listed:?}") };
        let text = cause.to_string();
        assert!(text.starts_with(expected), "{text}");
        let whole = format!("{text} {cause:?}");
        assert!(whole.len() < 1000 && !whole.contains("hunter2") && !whole.contains(char::is_control), "{whole}");
    }
}

#[tokio::test]
async fn a_missing_bucket_is_an_error_and_not_a_missing_image() {
    let (server, _) = serve("s3://agora").await;
    let (store, _) = bucket(&server, "s3://elsewhere").await;
    let listed: Result<Vec<_>> = store.list().await.unwrap().try_collect().await;
    let Err(Error::Unavailable(cause)) = listed else { panic!("{listed:?}") };
    assert!(cause.to_string().contains("NoSuchBucket"), "{cause}");
    // Amazon's server responds so to every request, but to HEAD without a body.
    let variables = serve_response("404 Not Found", "<Error><Code>NoSuchBucket</Code></Error>").await;
    let store = ObjectImageStore::new(bucket_objects("s3://agora", variables.into_iter()).await.unwrap());
    let key = ImageKey::new([7; 16], ImageFormat::Png);
    for range in [None, Some(ByteRange::From(0)), Some(ByteRange::Last(0))] {
        let opened = store.open(&key, Rendition::Original, range).await.map(|image| image.is_some());
        assert!(matches!(opened, Err(Error::Unavailable(_))), "{range:?}: {opened:?}");
    }

    let said = |words: &str| object_store::Error::NotFound { path: "ab/abc.png".to_owned(), source: words.into() };
    assert!(matches!(none_if_not_found::<()>(Err(said("404: <Code>NoSuchBucket</Code>"))), Err(Error::Unavailable(_))));
    assert!(matches!(none_if_not_found::<()>(Err(said("404: <Code>NoSuchKey</Code>"))), Ok(None)));
}

#[tokio::test]
async fn an_unreachable_server_is_used_again_once_it_is_back() {
    let (server, (store, _)) = serve("s3://agora").await;
    let key = put(&store, "0123456789").await.unwrap();
    server.close();
    for cause in expect_unavailable(&store, &key).await {
        assert!(cause.to_string().contains("refused"), "{cause}");
    }
    server.recover();
    assert_eq!(read(&store, &key, None).await.1, b"0123456789");
    put(&store, "0123456789").await.unwrap();
}

#[tokio::test]
async fn calls_of_a_server_that_never_answers_time_out() {
    let (server, (store, _)) = serve("s3://agora").await;
    let key = put(&store, "0123456789").await.unwrap();
    server.hang();
    // The paused clock of the test jumps to the next timeout instead of waiting for it.
    time::pause();
    let started = Instant::now();
    let given_up = expect_unavailable(&store, &key).await.len();
    let longest = 10 * u32::try_from(given_up).unwrap();
    assert!(started.elapsed() <= time::Duration::from_secs(longest.into()), "{:?}", started.elapsed());
    time::resume();
    server.recover();
    assert_eq!(read(&store, &key, None).await.1, b"0123456789");
}

#[tokio::test]
async fn a_stalled_read_of_an_image_ends_with_an_error() {
    let (server, (store, _)) = serve("s3://agora").await;
    let key = put_as(&store, ImageFormat::Png, vec![7; 20_000_000].into()).await.unwrap();
    let mut image = store.open(&key, Rendition::Original, None).await.unwrap().unwrap();
    image.bytes.next().await.unwrap().unwrap();
    server.hang();
    time::pause();
    let rest: Result<Vec<_>> = image.bytes.try_collect().await;
    assert!(matches!(rest, Err(Error::Unavailable(_))), "the image ended without a failure");
}
