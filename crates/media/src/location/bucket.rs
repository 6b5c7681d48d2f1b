//! Images in a bucket of S3, or of a server that speaks its protocol.

use std::sync::Arc;
use std::time::Duration;

use object_store::aws::{AmazonS3, AmazonS3Builder, AmazonS3ConfigKey as Key};
use object_store::path::Path;
use object_store::prefix::PrefixStore;
use object_store::{BackoffConfig, ClientOptions, ObjectStore, RetryConfig};
use url::Url;

use super::OpenError;
use crate::failure::Failure;
use crate::limit::{CALL_TIMEOUT, with_timeout};

/// The timeout for establishing a connection.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(3);

/// The timeout for the machine's answer whether it has a role.
const ROLE_TIMEOUT: Duration = Duration::from_secs(5);

/// Returns the bucket, or the part of a bucket, of an `s3:` URL, configured by `variables` like those of the environment.
pub(crate) async fn objects(
    url: &str,
    variables: impl Iterator<Item = (String, String)>,
) -> Result<Arc<dyn ObjectStore>, OpenError> {
    let (bucket, prefix) = parse(url).ok_or(OpenError::Bucket)?;
    let mut builder = builder(variables).with_bucket_name(bucket);
    let endpoint = [Key::S3Endpoint, Key::Endpoint].iter().find_map(|key| builder.get_config_value(key));
    if let Some(endpoint) = endpoint {
        let endpoint = Url::parse(&endpoint).ok().filter(Url::has_host).ok_or(OpenError::Endpoint)?;
        // These would become part of the URL of every request, and a password thus of the message of a failed one.
        if has_user(&endpoint) || endpoint.query().is_some() || endpoint.fragment().is_some() {
            return Err(OpenError::Endpoint);
        }
        match endpoint.scheme() {
            "https" => {}
            // An explicit http URL is intended.
            "http" => builder = builder.with_allow_http(true),
            _ => return Err(OpenError::Endpoint),
        }
    }
    let source = credentials_source(&builder)?;
    let objects = builder.build()?;
    if source == CredentialsSource::Machine {
        ensure_role(&objects).await?;
    }
    Ok(if prefix.as_ref().is_empty() { Arc::new(objects) } else { Arc::new(PrefixStore::new(objects, prefix)) })
}

/// Checks that a URL names a bucket.
pub(super) fn check(url: &str) -> Result<(), OpenError> {
    parse(url).map(drop).ok_or(OpenError::Bucket)
}

/// Parses the bucket and the prefix of a URL.
fn parse(url: &str) -> Option<(String, Path)> {
    let parsed = Url::parse(url).ok().filter(|parsed| parsed.scheme() == "s3")?;
    let bucket = parsed.host_str().filter(|name| !name.is_empty())?;
    let named = bucket.bytes().all(|b| b.is_ascii_alphanumeric() || b"-._".contains(&b));
    let more = has_user(&parsed) || parsed.port().is_some() || parsed.query().is_some() || parsed.fragment().is_some();
    (named && !more).then(|| Some((bucket.to_owned(), Path::from_url_path(parsed.path()).ok()?))).flatten()
}

/// Returns whether the URL has a user or a password.
fn has_user(url: &Url) -> bool {
    !url.username().is_empty() || url.password().is_some()
}

/// Returns a client with our timeouts, configured by the variables. The client does not limit the time of a whole response,
/// since an image may go to a slow reader. [`crate::limit`] bounds what must not take long.
fn builder(variables: impl Iterator<Item = (String, String)>) -> AmazonS3Builder {
    let options = ClientOptions::new().with_connect_timeout(CONNECT_TIMEOUT).with_timeout_disabled();
    let backoff = BackoffConfig { max_backoff: Duration::from_secs(1), ..BackoffConfig::default() };
    // Several retries: after a server comes back, a few pooled connections may turn out to be dead.
    let retry = RetryConfig { backoff, max_retries: 4, retry_timeout: CALL_TIMEOUT };
    let builder = AmazonS3Builder::new()
        .with_client_options(options)
        .with_retry(retry)
        // Not every server supports the request that deletes several objects.
        .with_disable_bulk_delete(true);
    // An empty variable counts as unset, as everywhere.
    let given = variables.filter(|(name, value)| name.starts_with("AWS_") && !value.is_empty());
    given.fold(builder, |builder, (name, value)| match name.to_ascii_lowercase().parse() {
        Ok(key) => builder.with_config(key, value),
        Err(_) => builder,
    })
}

/// The source of the credentials.
#[derive(Debug, PartialEq)]
enum CredentialsSource {
    /// The variables contain them, refer to them, or disable signing.
    Variables,
    /// The role of the machine.
    Machine,
}

fn credentials_source(builder: &AmazonS3Builder) -> Result<CredentialsSource, OpenError> {
    let given = |key| builder.get_config_value(&key).is_some();
    match (given(Key::AccessKeyId), given(Key::SecretAccessKey)) {
        (true, true) => return Ok(CredentialsSource::Variables),
        (false, false) => {}
        _ => return Err(OpenError::HalfOfCredentials),
    }
    let elsewhere = given(Key::WebIdentityTokenFile) && given(Key::RoleArn)
        || given(Key::ContainerCredentialsRelativeUri)
        || given(Key::ContainerCredentialsFullUri) && given(Key::ContainerAuthorizationTokenFile);
    let unsigned = builder.get_config_value(&Key::SkipSignature).is_some_and(|value| value != "false");
    Ok(if elsewhere || unsigned { CredentialsSource::Variables } else { CredentialsSource::Machine })
}

/// Queries the role of the machine once. Without this check, every request would wait for that query if there is no role.
async fn ensure_role(objects: &AmazonS3) -> Result<(), OpenError> {
    let asked = with_timeout(ROLE_TIMEOUT, objects.credentials().get_credential()).await;
    asked.map_err(|error| OpenError::NoCredentials(Failure::from(error)))?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEYS: [(&str, &str); 2] = [("AWS_ACCESS_KEY_ID", "agora"), ("AWS_SECRET_ACCESS_KEY", "hunter2")];

    async fn open(url: &str, variables: &[(&str, &str)]) -> Result<Arc<dyn ObjectStore>, OpenError> {
        objects(url, variables.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))).await
    }

    async fn open_error(url: &str, variables: &[(&str, &str)]) -> OpenError {
        let error = open(url, variables).await.expect_err("a refusal");
        let shown = format!("{error:?} {error}");
        assert!(!shown.contains("hunter2"), "a secret was shown: {shown}");
        error
    }

    #[tokio::test]
    async fn a_url_has_a_bucket_and_an_optional_prefix() {
        for (url, bucket, prefix) in [
            ("s3://agora", "agora", ""),
            ("s3://agora/", "agora", ""),
            ("s3://agora.example.org/images", "agora.example.org", "images"),
            ("s3://agora/a/b/", "agora", "a/b"),
            ("s3://agora/with%20space", "agora", "with space"),
        ] {
            assert_eq!(parse(url), Some((bucket.to_owned(), Path::from(prefix))), "{url}");
            open(url, &KEYS).await.unwrap();
        }
        for url in [
            "s3:",
            "s3://",
            "s3:///images",
            "s3:agora",
            "s3://agora:9000/images",
            "s3://agora?region=eu",
            "s3://agora#images",
            "s3://agora//images",
            "s3://agora:hunter2@images",
            "s3://ag%20ora",
            "S3 bucket",
        ] {
            assert!(matches!(open_error(url, &KEYS).await, OpenError::Bucket), "{url}");
        }
    }

    #[tokio::test]
    async fn an_endpoint_must_be_a_plain_http_or_https_url() {
        for endpoint in ["http://127.0.0.1:9000", "https://s3.example.org", "https://s3.example.org/", ""] {
            open("s3://agora", &[&KEYS[..], &[("AWS_ENDPOINT_URL", endpoint)]].concat()).await.unwrap();
        }
        for endpoint in [
            "127.0.0.1:9000",
            "localhost:9000",
            "ftp://127.0.0.1",
            "minio",
            "http://agora:hunter2@127.0.0.1:9000",
            "https://hunter2@s3.example.org",
            "https://:hunter2@s3.example.org",
            "https://s3.example.org/?token=hunter2",
            "https://s3.example.org/#hunter2",
        ] {
            for name in ["AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_S3"] {
                let error = open_error("s3://agora", &[&KEYS[..], &[(name, endpoint)]].concat()).await;
                assert!(matches!(error, OpenError::Endpoint), "{endpoint}");
            }
        }
    }

    #[tokio::test]
    async fn credentials_are_complete_or_come_from_another_source() {
        for half in KEYS {
            let error = open_error("s3://agora", &[half, ("AWS_SESSION_TOKEN", "hunter2")]).await;
            assert!(matches!(error, OpenError::HalfOfCredentials), "{half:?}");
        }
        for elsewhere in [
            &[("AWS_WEB_IDENTITY_TOKEN_FILE", "/var/token"), ("AWS_ROLE_ARN", "arn:aws:iam::1:role/agora")][..],
            &[("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", "/v2/credentials")],
            &[("AWS_SKIP_SIGNATURE", "true")],
        ] {
            open("s3://agora", elsewhere).await.unwrap();
        }
    }

    #[tokio::test]
    async fn without_credentials_the_machine_must_have_a_role() {
        // Nothing listens on this port.
        let error = open_error("s3://agora", &[("AWS_METADATA_ENDPOINT", "http://127.0.0.1:1")]).await;
        assert!(matches!(error, OpenError::NoCredentials(_)), "{error:?}");
        assert!(error.to_string().contains("AWS_ACCESS_KEY_ID"), "{error}");
    }
}
