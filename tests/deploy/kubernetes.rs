//! Checks that the Kubernetes resources match each other and the image.

use agora_config::Config;
use serde_json::Value;

use super::files::{below, lines, read, yaml};

fn resource(name: &str) -> Value {
    yaml(&format!("deploy/kubernetes/{name}.yaml")).remove(0)
}

fn container() -> Value {
    resource("deployment")["spec"]["template"]["spec"]["containers"][0].clone()
}

#[test]
fn selectors_match_the_pods() {
    let deployment = resource("deployment");
    let pods = &deployment["spec"]["template"]["metadata"]["labels"];
    assert!(pods.as_object().is_some_and(|labels| !labels.is_empty()));
    assert_eq!(&deployment["spec"]["selector"]["matchLabels"], pods);
    assert_eq!(&resource("service")["spec"]["selector"], pods);
    assert_eq!(&resource("poddisruptionbudget")["spec"]["selector"]["matchLabels"], pods);
    let spread = &deployment["spec"]["template"]["spec"]["topologySpreadConstraints"][0];
    assert_eq!(&spread["labelSelector"]["matchLabels"], pods);
}

#[test]
fn ingress_service_and_container_have_matching_ports() {
    let (service, ingress, container) = (resource("service"), resource("ingress"), container());
    let port = &container["ports"][0]["name"];
    for probe in ["startupProbe", "readinessProbe", "livenessProbe"] {
        assert_eq!(&container[probe]["httpGet"]["port"], port);
    }
    assert_eq!(&service["spec"]["ports"][0]["targetPort"], port);
    let backend = &ingress["spec"]["rules"][0]["http"]["paths"][0]["backend"]["service"];
    assert_eq!(backend["name"], service["metadata"]["name"]);
    assert_eq!(backend["port"]["name"], service["spec"]["ports"][0]["name"]);
    assert_eq!(ingress["spec"]["tls"][0]["hosts"][0], ingress["spec"]["rules"][0]["host"]);
    let public = resource("configmap")["data"]["AGORA_PUBLIC_URL"].clone();
    assert_eq!(public, format!("https://{}", ingress["spec"]["rules"][0]["host"].as_str().unwrap()));
}

#[test]
fn readiness_depends_on_the_database_and_liveness_does_not() {
    let container = container();
    assert_eq!(container["readinessProbe"]["httpGet"]["path"], "/health/ready");
    // If it depended on the database, an outage would restart all pods at the same time.
    assert_eq!(container["livenessProbe"]["httpGet"]["path"], "/health/live");
    assert_eq!(container["startupProbe"]["httpGet"]["path"], "/health/live");
    let startup = |field: &str| container["startupProbe"][field].as_u64().unwrap();
    assert!(startup("periodSeconds") * startup("failureThreshold") >= 300);
}

#[test]
fn a_pod_is_available_during_updates_and_evictions() {
    let deployment = resource("deployment");
    let replicas = deployment["spec"]["replicas"].as_u64().unwrap();
    assert!(replicas >= 2 && resource("poddisruptionbudget")["spec"]["minAvailable"].as_u64().unwrap() < replicas);
    let update = &deployment["spec"]["strategy"]["rollingUpdate"];
    assert!(update["maxUnavailable"] == 0 && update["maxSurge"] == 1);
    // Each pod opens up to five more. Pods that are being terminated keep theirs, and `maxSurge` does not count these pods.
    // PostgreSQL reserves 3 of its 100 connections.
    let settings = &resource("configmap")["data"];
    let connections: u64 = settings["AGORA_DATABASE_CONNECTIONS"].as_str().unwrap().parse().unwrap();
    assert!(2 * replicas * (connections + 5) < 100 - 3);
}

#[test]
fn a_pod_can_write_only_to_its_data_directory_and_tmp() {
    let pod = resource("deployment")["spec"]["template"]["spec"].clone();
    let container = container();
    let security = &container["securityContext"];
    assert!(security["readOnlyRootFilesystem"] == true && security["allowPrivilegeEscalation"] == false);
    assert_eq!(security["capabilities"]["drop"][0], "ALL");
    assert!(pod["securityContext"]["runAsNonRoot"] == true && pod["automountServiceAccountToken"] == false);
    let user = format!("USER {0}:{0}", pod["securityContext"]["runAsUser"]);
    assert!(lines("deploy/docker/Dockerfile").contains(&user), "{user}");

    let volumes = pod["volumes"].as_array().unwrap();
    let settings = &resource("configmap")["data"];
    for mount in container["volumeMounts"].as_array().unwrap() {
        let volume = volumes.iter().find(|volume| volume["name"] == mount["name"]).unwrap();
        let may_write = mount["mountPath"] == settings["AGORA_DATA_DIR"] || mount["mountPath"] == "/tmp";
        assert!(may_write == volume["emptyDir"].is_object() && may_write != (mount["readOnly"] == true), "{mount}");
    }
}

#[test]
fn the_backup_job_has_the_configuration_of_the_pods_and_a_persistent_volume() {
    let [claim, job] = yaml("deploy/kubernetes/backup.yaml").try_into().unwrap();
    let template = &job["spec"]["jobTemplate"]["spec"]["template"];
    let pod = &template["spec"];
    let service = resource("service")["spec"]["selector"].clone();
    assert_ne!(template["metadata"]["labels"], service, "the service would route requests to it");
    let (backup, cleanup) = (&pod["initContainers"][0], &pod["containers"][0]);
    let (of_service, serving) = (resource("deployment")["spec"]["template"]["spec"].clone(), container());
    assert_eq!(pod["securityContext"], of_service["securityContext"]);
    for field in ["image", "envFrom", "securityContext"] {
        assert_eq!(backup[field], serving[field], "{field}");
    }
    assert_eq!(cleanup["securityContext"], serving["securityContext"]);
    let find = |list: &Value, name: &str| {
        let mut found = list.as_array().unwrap().iter().filter(|entry| entry["name"] == name);
        found.next().unwrap_or_else(|| panic!("no {name}")).clone()
    };
    for name in ["data", "secrets"] {
        assert_eq!(find(&pod["volumes"], name), find(&of_service["volumes"], name));
        assert_eq!(find(&backup["volumeMounts"], name), find(&serving["volumeMounts"], name));
    }
    // One that cannot begin is not retried, but waits.
    assert!(job["spec"]["jobTemplate"]["spec"]["activeDeadlineSeconds"].is_u64());
    assert_eq!(find(&pod["volumes"], "backup")["persistentVolumeClaim"]["claimName"], claim["metadata"]["name"]);
    let mount = find(&backup["volumeMounts"], "backup");
    assert_eq!(mount, find(&cleanup["volumeMounts"], "backup"));
    // Each backup has its own name, by which old ones are found.
    let directory = mount["mountPath"].as_str().unwrap();
    assert_eq!(backup["args"], serde_json::json!(["backup", format!("{directory}/$(POD_NAME).tar")]));
    let old = format!(
        "find {directory} -maxdepth 1 -name '{}-*.tar' -mtime +14 -delete\n",
        job["metadata"]["name"].as_str().unwrap()
    );
    assert!(cleanup["command"][2].as_str().unwrap().starts_with(&old), "{cleanup}");
}

#[test]
fn config_map_and_secrets_match_the_pods() {
    let (pod, container) = (resource("deployment")["spec"]["template"]["spec"].clone(), container());
    let settings = resource("configmap");
    let secrets = yaml("deploy/kubernetes/secret.example.yaml");
    let sources = container["envFrom"].as_array().unwrap();
    assert_eq!(sources[0]["configMapRef"]["name"], settings["metadata"]["name"]);
    assert_eq!(sources[1]["secretRef"]["name"], secrets[1]["metadata"]["name"]);
    let volume = pod["volumes"].as_array().unwrap().iter().find(|volume| volume["secret"].is_object()).unwrap();
    assert_eq!(volume["secret"]["secretName"], secrets[0]["metadata"]["name"]);
    let mounts = container["volumeMounts"].as_array().unwrap();
    let mount = mounts.iter().find(|mount| mount["name"] == volume["name"]).unwrap()["mountPath"].as_str().unwrap();
    let files = settings["data"].as_object().unwrap().iter().filter(|(name, _)| name.ends_with("_FILE"));
    let files: Vec<_> = files.map(|(_, file)| file.as_str().unwrap().to_owned()).collect();
    let keys = secrets[0]["stringData"].as_object().unwrap().keys();
    let mut kept: Vec<_> = keys.map(|key| format!("{mount}/{key}")).collect();
    kept.sort();
    assert_eq!(files, kept);
    for secret in &secrets {
        assert!(
            secret["stringData"].as_object().unwrap().values().all(|value| value == ""),
            "the example contains no secrets"
        );
    }
    // The settings that are not files of secrets are valid.
    let plain = |name: &str| settings["data"].get(name).and_then(Value::as_str).map(str::to_owned);
    let config = Config::from_variables(|name| plain(name).filter(|_| !name.ends_with("_FILE"))).unwrap();
    assert_eq!(config.listen, "0.0.0.0:8080");
}

#[test]
fn the_kustomization_lists_all_resources_but_the_example() {
    let listed = resource("kustomization")["resources"].clone();
    let mut listed: Vec<_> =
        listed.as_array().unwrap().iter().map(|it| format!("deploy/kubernetes/{}", it.as_str().unwrap())).collect();
    listed.sort();
    let others = ["deploy/kubernetes/kustomization.yaml", "deploy/kubernetes/secret.example.yaml"];
    let all: Vec<_> = below("deploy/kubernetes").into_iter().filter(|path| !others.contains(&&**path)).collect();
    assert_eq!(listed, all);
    assert!(!read("deploy/kubernetes/deployment.yaml").contains(":latest"));
}
