//! Images in a bucket, on a server that speaks the protocol.

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

/// Checks that whatever is asked of the store is answered by a failure of the storage; what the log is told.
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
async fn stores_of_different_prefixes_do_not_see_each_other() {
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
async fn a_listing_goes_on_past_its_first_page() {
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
async fn an_object_carries_what_its_readers_need_to_know() {
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
async fn with_wrong_credentials_it_is_unavailable_and_no_secret_is_told() {
    const GUESS: &str = "a wrong guess";
    let (server, (store, _)) = serve("s3://agora").await;
    let key = put(&store, "0123456789").await.unwrap();
    let variables = server.variables().into_iter().chain([("AWS_SECRET_ACCESS_KEY".to_owned(), GUESS.to_owned())]);
    let stranger = ObjectImageStore::new(bucket_objects("s3://agora", variables).await.unwrap());
    for cause in expect_unavailable(&stranger, &key).await {
        let told = format!("{cause} {cause:?}");
        assert!(told.contains("403") && !told.contains(GUESS) && !told.contains('<'), "{told}");
    }
    assert_eq!(keys(&store).await, HashSet::from([key]));
}

/// A server that gives every request the same answer, and what leads to it.
async fn answering(status: &str, body: &str) -> [(String, String); 3] {
    let answer = format!("HTTP/1.1 {status}\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}", body.len());
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
            // Whoever has heard enough breaks off.
            let _ = stream.write_all(answer.as_bytes()).await;
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
async fn of_what_a_server_answers_little_is_told() {
    let document = "<Error><Code>ExpiredToken</Code><Message>It expired.</Message><Token-0>hunter2</Token-0></Error>";
    for (status, body, expected) in [
        ("403 Forbidden", "x-amz-security-token: hunter2\n\u{1b}[2J", "GET was answered 403 Forbidden"),
        ("400 Bad Request", &*"hunter2 ".repeat(200_000), "GET was answered 400 Bad Request"),
        ("403 Forbidden", document, "GET was answered 403 Forbidden: ExpiredToken: It expired."),
        ("200 OK", "<ListBucketResult><hunter2></ListBucketResult>", "Generic S3 error: "),
    ] {
        let variables = answering(status, body).await;
        let store = ObjectImageStore::new(bucket_objects("s3://agora", variables.into_iter()).await.unwrap());
        let listed: Result<Vec<_>> = store.list().await.unwrap().try_collect().await;
        let Err(Error::Unavailable(cause)) = listed else { panic!("{listed:?}") };
        let told = cause.to_string();
        assert!(told.starts_with(expected), "{told}");
        let whole = format!("{told} {cause:?}");
        assert!(whole.len() < 1000 && !whole.contains("hunter2") && !whole.contains(char::is_control), "{whole}");
    }
}

#[tokio::test]
async fn a_bucket_that_is_not_there_is_a_failure_not_a_missing_image() {
    let (server, _) = serve("s3://agora").await;
    let (store, _) = bucket(&server, "s3://elsewhere").await;
    let listed: Result<Vec<_>> = store.list().await.unwrap().try_collect().await;
    let Err(Error::Unavailable(cause)) = listed else { panic!("{listed:?}") };
    assert!(cause.to_string().contains("NoSuchBucket"), "{cause}");
    // Amazon's says so to every request, but to HEAD without a word.
    let variables = answering("404 Not Found", "<Error><Code>NoSuchBucket</Code></Error>").await;
    let store = ObjectImageStore::new(bucket_objects("s3://agora", variables.into_iter()).await.unwrap());
    let key = ImageKey::new([7; 16], ImageFormat::Png);
    for range in [None, Some(ByteRange::From(0)), Some(ByteRange::Last(0))] {
        let opened = store.open(&key, Rendition::Original, range).await.map(|image| image.is_some());
        assert!(matches!(opened, Err(Error::Unavailable(_))), "{range:?}: {opened:?}");
    }

    let said = |words: &str| object_store::Error::NotFound { path: "ab/abc.png".to_owned(), source: words.into() };
    assert!(matches!(found::<()>(Err(said("404: <Code>NoSuchBucket</Code>"))), Err(Error::Unavailable(_))));
    assert!(matches!(found::<()>(Err(said("404: <Code>NoSuchKey</Code>"))), Ok(None)));
}

#[tokio::test]
async fn a_server_that_is_gone_is_unavailable_and_used_again_once_it_is_back() {
    let (server, (store, _)) = serve("s3://agora").await;
    let key = put(&store, "0123456789").await.unwrap();
    server.close();
    for cause in expect_unavailable(&store, &key).await {
        assert!(cause.to_string().contains("refused"), "{cause}");
    }
    server.come_back();
    assert_eq!(read(&store, &key, None).await.1, b"0123456789");
    put(&store, "0123456789").await.unwrap();
}

#[tokio::test]
async fn a_server_that_never_answers_is_given_up_on_soon() {
    let (server, (store, _)) = serve("s3://agora").await;
    let key = put(&store, "0123456789").await.unwrap();
    server.fall_silent();
    // The clock of the test jumps to the next limit instead of waiting for it.
    time::pause();
    let begun = Instant::now();
    let given_up = expect_unavailable(&store, &key).await.len();
    let longest = 10 * u32::try_from(given_up).unwrap();
    assert!(begun.elapsed() <= time::Duration::from_secs(longest.into()), "{:?}", begun.elapsed());
    time::resume();
    server.come_back();
    assert_eq!(read(&store, &key, None).await.1, b"0123456789");
}

#[tokio::test]
async fn an_image_whose_bytes_stop_coming_ends_in_a_failure() {
    let (server, (store, _)) = serve("s3://agora").await;
    let key = put_as(&store, ImageFormat::Png, vec![7; 20_000_000].into()).await.unwrap();
    let mut image = store.open(&key, Rendition::Original, None).await.unwrap().unwrap();
    image.bytes.next().await.unwrap().unwrap();
    server.fall_silent();
    time::pause();
    let rest: Result<Vec<_>> = image.bytes.try_collect().await;
    assert!(matches!(rest, Err(Error::Unavailable(_))), "the image ended without a failure");
}
