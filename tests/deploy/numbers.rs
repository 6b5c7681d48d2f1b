//! The numbers that the service, the units, the containers and the proxies must agree on.

use std::time::Duration;

use agora_config::Config;
use serde_json::Value;

use super::files::{lines, read, yaml};
use super::systemd;

fn defaults() -> Config {
    Config::from_variables(|_| None).unwrap()
}

/// How long a service may take to stop: for the bodies that still arrive, the work on them, and what PostgreSQL has begun.
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

/// A size as it is written in one of the files, in mebibytes.
fn mebibytes(text: &str) -> u64 {
    assert!(["M", "m", "Mi", "MiB"].contains(&text.trim_start_matches(|c: char| c.is_ascii_digit())), "{text}");
    number(text)
}

#[test]
fn whoever_stops_a_service_waits_until_it_has_finished() {
    let unit = systemd::unit("agora.service");
    let pod = pod();
    let before = pod["containers"][0]["lifecycle"]["preStop"]["sleep"]["seconds"].as_u64().unwrap();
    for (name, seconds) in [
        ("TimeoutStopSec", number(&systemd::values(&unit, "TimeoutStopSec")[0])),
        ("stop_grace_period", number(agora_of_compose()["stop_grace_period"].as_str().unwrap())),
        ("terminationGracePeriodSeconds", pod["terminationGracePeriodSeconds"].as_u64().unwrap() - before),
    ] {
        assert!(Duration::from_secs(seconds) >= stop_time(), "{name} is {seconds} s, it may take {:?}", stop_time());
    }
}

#[test]
fn there_is_memory_for_large_things_and_the_rest() {
    let config = defaults();
    let large = [config.decode_memory, config.upload_memory, config.answer_memory].map(|bytes| u64::from(bytes) >> 20);
    let large: u64 = large.iter().sum();
    let unit = systemd::unit("agora.service");
    for (name, limit) in [
        ("MemoryMax", mebibytes(&systemd::values(&unit, "MemoryMax")[0])),
        ("mem_limit", mebibytes(agora_of_compose()["mem_limit"].as_str().unwrap())),
        ("limits.memory", mebibytes(pod()["containers"][0]["resources"]["limits"]["memory"].as_str().unwrap())),
    ] {
        assert!(limit >= 2 * large, "{name} is {limit} MiB, and what is large may take {large}");
    }
}

#[test]
fn there_are_files_for_all_connections() {
    let needed = 2 * Config::MAX_CONNECTIONS + 256 + defaults().database_connections;
    let unit = systemd::unit("agora.service");
    assert!(systemd::values(&unit, "LimitNOFILE")[0].parse::<usize>().unwrap() >= needed);
    let compose = agora_of_compose();
    assert!(compose["ulimits"]["nofile"].as_u64().unwrap() >= u64::try_from(needed).unwrap());
}

/// The values of a directive of a proxy's configuration.
fn directives(lines: &[String], name: &str) -> Vec<String> {
    let found = lines.iter().filter_map(|line| line.strip_prefix(&format!("{name} ")));
    found.map(|value| value.trim_end_matches(';').to_owned()).collect()
}

/// The value of a directive that a proxy's configuration has once.
fn directive(lines: &[String], name: &str) -> String {
    let mut found = directives(lines, name);
    assert_eq!(found.len(), 1, "{name}: {found:?}");
    found.remove(0)
}

#[test]
fn proxies_take_every_upload_and_wait_for_every_answer() {
    // A form is an image and a mebibyte of everything else.
    let form = (u64::from(defaults().max_image_bytes) >> 20) + 1;
    let (nginx, caddy) = (lines("deploy/nginx/agora.conf"), lines("deploy/caddy/Caddyfile"));
    let body = directive(&nginx, "client_max_body_size");
    assert!(mebibytes(&body) > form, "{body}");
    assert!(read("deploy/caddy/Caddyfile").contains(&format!("request_buffers {}MiB", mebibytes(&body))));
    assert!(read("deploy/kubernetes/ingress.yaml").contains(&format!("bodies of up to {} MiB", mebibytes(&body))));
    for (lines, name, count) in [(&nginx, "proxy_read_timeout", 2), (&caddy, "response_header_timeout", 1)] {
        let found = directives(lines, name);
        assert_eq!(found.len(), count, "{name}: {found:?}");
        assert!(found.iter().all(|value| number(value) > 30), "{name} is below the time of a request: {found:?}");
    }
    for (lines, name) in [(&nginx, "keepalive_timeout"), (&caddy, "keepalive")] {
        assert!(number(&directive(lines, name)) < 5, "{name}: the service closes idle connections after 5 s");
    }
    assert_eq!(directive(&nginx, "proxy_set_header X-Forwarded-For"), "$remote_addr");
}

#[test]
fn everything_is_at_the_port_that_is_asked() {
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
fn metrics_are_where_prometheus_looks_and_clients_do_not() {
    let prometheus = yaml("deploy/prometheus/prometheus.yml").remove(0);
    let target = prometheus["scrape_configs"][0]["static_configs"][0]["targets"][0].as_str().unwrap().to_owned();
    let port = target.strip_prefix("127.0.0.1:").unwrap();
    // Switched on by whoever has a Prometheus.
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
    // What the alerts are about.
    assert_eq!(prometheus["scrape_configs"][0]["job_name"], "agora");
}
