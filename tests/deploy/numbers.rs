//! Checks that timeouts, sizes and ports of the service, the units, the containers and the proxies match.

use std::time::Duration;

use agora_config::Config;
use serde_json::Value;

use super::files::{lines, read, yaml};
use super::systemd;

fn defaults() -> Config {
    Config::from_variables(|_| None).unwrap()
}

/// Returns the maximum duration of a shutdown: the remaining bodies, the requests, the statements on PostgreSQL, and a reserve.
fn stop_time() -> Duration {
    let config = defaults();
    config.client_timeout + Duration::from_secs(30) + config.database_statement_timeout + Duration::from_secs(2)
}

fn agora_of_compose() -> Value {
    yaml("deploy/compose/compose.yaml")[0]["services"]["agora"].clone()
}

fn pod() -> Value {
    yaml("deploy/kubernetes/deployment.yaml")[0]["spec"]["template"]["spec"].clone()
}

fn number(text: &str) -> u64 {
    text.chars().take_while(char::is_ascii_digit).collect::<String>().parse().unwrap()
}

/// Parses a size in mebibytes.
fn mebibytes(text: &str) -> u64 {
    assert!(["M", "m", "Mi", "MiB"].contains(&text.trim_start_matches(|c: char| c.is_ascii_digit())), "{text}");
    number(text)
}

#[test]
fn stop_timeouts_are_long_enough_for_a_graceful_shutdown() {
    let unit = systemd::unit("agora.service");
    let pod = pod();
    let before = pod["containers"][0]["lifecycle"]["preStop"]["sleep"]["seconds"].as_u64().unwrap();
    for (name, seconds) in [
        ("TimeoutStopSec", number(&systemd::values(&unit, "TimeoutStopSec")[0])),
        ("stop_grace_period", number(agora_of_compose()["stop_grace_period"].as_str().unwrap())),
        ("terminationGracePeriodSeconds", pod["terminationGracePeriodSeconds"].as_u64().unwrap() - before),
    ] {
        assert!(
            Duration::from_secs(seconds) >= stop_time(),
            "{name} is {seconds} s, but a shutdown may take {:?}",
            stop_time()
        );
    }
}

#[test]
fn memory_limits_are_at_least_twice_the_memory_budgets() {
    let config = defaults();
    let budgets = [config.decode_memory, config.upload_memory, config.answer_memory];
    let budget: u64 = budgets.into_iter().map(|bytes| u64::from(bytes) >> 20).sum();
    let unit = systemd::unit("agora.service");
    for (name, limit) in [
        ("MemoryMax", mebibytes(&systemd::values(&unit, "MemoryMax")[0])),
        ("mem_limit", mebibytes(agora_of_compose()["mem_limit"].as_str().unwrap())),
        ("limits.memory", mebibytes(pod()["containers"][0]["resources"]["limits"]["memory"].as_str().unwrap())),
    ] {
        assert!(limit >= 2 * budget, "{name} is {limit} MiB, and the budgets are {budget} MiB");
    }
}

#[test]
fn limits_of_open_files_are_enough_for_all_connections() {
    let needed = 2 * Config::MAX_CONNECTIONS + 256 + defaults().database_connections;
    let unit = systemd::unit("agora.service");
    assert!(systemd::values(&unit, "LimitNOFILE")[0].parse::<usize>().unwrap() >= needed);
    let compose = agora_of_compose();
    assert!(compose["ulimits"]["nofile"].as_u64().unwrap() >= u64::try_from(needed).unwrap());
}

/// Returns the values of a directive in the configuration of a proxy.
fn directives(lines: &[String], name: &str) -> Vec<String> {
    let found = lines.iter().filter_map(|line| line.strip_prefix(&format!("{name} ")));
    found.map(|value| value.trim_end_matches(';').to_owned()).collect()
}

/// Returns the value of a directive that occurs once in the configuration of a proxy.
fn directive(lines: &[String], name: &str) -> String {
    let mut found = directives(lines, name);
    assert_eq!(found.len(), 1, "{name}: {found:?}");
    found.remove(0)
}

#[test]
fn proxies_accept_the_largest_upload_and_wait_for_the_slowest_response() {
    // A form may have an image, and one MiB of other fields.
    let form = (u64::from(defaults().max_image_bytes) >> 20) + 1;
    let (nginx, caddy) = (lines("deploy/nginx/agora.conf"), lines("deploy/caddy/Caddyfile"));
    let body = directive(&nginx, "client_max_body_size");
    assert!(mebibytes(&body) > form, "{body}");
    assert!(read("deploy/caddy/Caddyfile").contains(&format!("request_buffers {}MiB", mebibytes(&body))));
    assert!(read("deploy/kubernetes/ingress.yaml").contains(&format!("bodies of up to {} MiB", mebibytes(&body))));
    for (lines, name, count) in [(&nginx, "proxy_read_timeout", 2), (&caddy, "response_header_timeout", 1)] {
        let found = directives(lines, name);
        assert_eq!(found.len(), count, "{name}: {found:?}");
        assert!(found.iter().all(|value| number(value) > 30), "{name} is below the timeout of a request: {found:?}");
    }
    for (lines, name) in [(&nginx, "keepalive_timeout"), (&caddy, "keepalive")] {
        assert!(number(&directive(lines, name)) < 5, "{name}: the service closes idle connections after 5 s");
    }
    assert_eq!(directive(&nginx, "proxy_set_header X-Forwarded-For"), "$remote_addr");
}

#[test]
fn the_port_of_the_service_is_the_same_everywhere() {
    let listen = defaults().listen;
    let port = listen.rsplit(':').next().unwrap();
    assert!(lines("deploy/nginx/agora.conf").contains(&format!("server {listen} fail_timeout=1s;")));
    assert!(lines("deploy/caddy/Caddyfile").contains(&format!("reverse_proxy {listen} {{")));
    let container = read("deploy/docker/Dockerfile");
    assert!(
        container.contains(&format!("AGORA_LISTEN=0.0.0.0:{port}")) && container.contains(&format!("EXPOSE {port}\n"))
    );
    let compose = agora_of_compose();
    assert_eq!(compose["environment"]["AGORA_LISTEN"], format!("0.0.0.0:{port}"));
    assert_eq!(compose["ports"][0], format!("127.0.0.1:{port}:{port}"));
    let settings = &yaml("deploy/kubernetes/configmap.yaml")[0]["data"];
    assert_eq!(settings["AGORA_LISTEN"], format!("0.0.0.0:{port}"));
    assert_eq!(pod()["containers"][0]["ports"][0]["containerPort"].to_string(), port);
}

#[test]
fn metrics_are_reachable_for_prometheus_and_not_published_to_clients() {
    let prometheus = yaml("deploy/prometheus/prometheus.yml").remove(0);
    let target = prometheus["scrape_configs"][0]["static_configs"][0]["targets"][0].as_str().unwrap().to_owned();
    let port = target.strip_prefix("127.0.0.1:").unwrap();
    // Disabled by default.
    assert!(read("deploy/systemd/agora.env").contains(&format!("\n#AGORA_METRICS_LISTEN={target}\n")));
    let everywhere = format!("0.0.0.0:{port}");
    let compose = agora_of_compose();
    assert_eq!(compose["environment"]["AGORA_METRICS_LISTEN"], everywhere);
    assert_eq!(compose["ports"].as_array().unwrap().len(), 1, "no other port is published");
    assert_eq!(yaml("deploy/kubernetes/configmap.yaml")[0]["data"]["AGORA_METRICS_LISTEN"], everywhere);

    let deployment = yaml("deploy/kubernetes/deployment.yaml").remove(0);
    let template = &deployment["spec"]["template"];
    let metrics = &template["spec"]["containers"][0]["ports"][1];
    assert_eq!((metrics["name"].as_str(), &*metrics["containerPort"].to_string()), (Some("metrics"), port));
    let annotations = &template["metadata"]["annotations"];
    assert!(annotations["prometheus.io/scrape"] == "true" && annotations["prometheus.io/port"] == port);
    let service = yaml("deploy/kubernetes/service.yaml").remove(0);
    let ports = service["spec"]["ports"].as_array().unwrap();
    assert!(ports.len() == 1 && ports[0]["targetPort"] == "http", "{ports:?}");
    // The alerts select this job.
    assert_eq!(prometheus["scrape_configs"][0]["job_name"], "agora");
}
