"""Containers: what compose and Kubernetes would be told, held against their schemas.

Neither runs here. For compose files and Kubernetes' own objects there are packages with schemas.
That of RayJob comes with its operator: ``ray_job.schema.json`` is of it, and knows no other fields.
Of ScrapeConfig tested is what it leans on.
"""

from __future__ import annotations

import json
import re
from importlib import resources
from pathlib import Path
from typing import Any

import jsonschema  # type: ignore[import-untyped]  # its types are a package of their own
import kubernetes_validate  # type: ignore[import-untyped]
import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
DEPLOY = ROOT / "deploy"
COMPOSE = yaml.safe_load((DEPLOY / "compose.yaml").read_text())
COMPOSE_SCHEMA = json.loads(
    (resources.files("check_jsonschema") / "builtin_schemas/vendor/compose-spec.json").read_text()
)

RAY_JOB_SCHEMA = json.loads(Path(__file__).with_name("ray_job.schema.json").read_text())

#: Releases of Kubernetes: one that is old by now, and the newest that is known.
RELEASES = ("1.29", kubernetes_validate.latest_version())


def objects(name: str) -> dict[str, dict[str, Any]]:
    """What a manifest declares, by kind."""
    found = list(yaml.safe_load_all((DEPLOY / "kubernetes" / name).read_text()))
    assert len({each["kind"] for each in found}) == len(found)
    return {each["kind"]: each for each in found}


JOB = objects("job.yaml")["Job"]
RAY_JOB = objects("rayjob.yaml")["RayJob"]
SERVICE = objects("endpoint.yaml")["Service"]
SCRAPE_CONFIG = objects("scrape-config.yaml")["ScrapeConfig"]
HEAD = RAY_JOB["spec"]["rayClusterSpec"]["headGroupSpec"]["template"]
(WORKERS,) = RAY_JOB["spec"]["rayClusterSpec"]["workerGroupSpecs"]
PODS = {"job": JOB["spec"]["template"], "head": HEAD, "worker": WORKERS["template"]}


def image_of(pod: dict[str, Any]) -> str:
    (container,) = pod["spec"]["containers"]
    return str(container["image"])


# Compose.


def test_the_compose_file_is_one() -> None:
    jsonschema.validate(COMPOSE, COMPOSE_SCHEMA)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({"services": {"prometheus": {"imgae": "prometheus"}}}, COMPOSE_SCHEMA)


def test_images_are_pinned_and_ports_are_those_of_this_machine_alone() -> None:
    for service in COMPOSE["services"].values():
        assert re.search(r":v?\d+\.\d+\.\d+$", service["image"])
        assert all(port.startswith("127.0.0.1:") for port in service.get("ports", ()))


def test_what_is_mounted_is_there() -> None:
    for service in COMPOSE["services"].values():
        for source in (volume.split(":")[0] for volume in service.get("volumes", ())):
            found = (DEPLOY / source).is_dir() if source[0] == "." else source in COMPOSE["volumes"]
            assert found, source


def test_prometheus_looks_for_runs_where_compose_has_them() -> None:
    config = yaml.safe_load((DEPLOY / "prometheus" / "prometheus.yml").read_text())
    (job,) = config["scrape_configs"]
    hosts = {re.split("[/:]+", each["url"])[1] for each in job["http_sd_configs"]}
    (added,) = COMPOSE["services"]["prometheus"]["extra_hosts"]
    assert hosts == {"127.0.0.1", "tidegauge", added.split(":")[0]}
    assert hosts - {"127.0.0.1", added.split(":")[0]} <= COMPOSE["services"].keys()


# The image.


def test_the_image_is_set_up_from_the_lock_and_runs_as_nobody_special() -> None:
    lines = (DEPLOY / "Dockerfile").read_text().splitlines()
    stages = [line.split()[-1] for line in lines if line.startswith("FROM ")]
    # Whoever names no stage gets the last one.
    assert stages == ["tidegauge-base", "kuberay", "spark", "tidegauge"]
    assert "COPY Makefile pyproject.toml requirements.lock ./" in lines
    assert "RUN make .venv/dependencies" in lines
    assert [line for line in lines if line.startswith("USER ")][-1] == "USER 10001"
    assert f"EXPOSE {SERVICE['spec']['ports'][0]['port']}" in lines


def test_a_container_is_stopped_as_a_run_is_on_a_terminal() -> None:
    """Its process 1 is the run, which SIGTERM would not reach: `docker stop` would kill it."""
    own_stage = (DEPLOY / "Dockerfile").read_text().split("FROM tidegauge-base AS tidegauge\n")[1]
    assert "STOPSIGNAL SIGINT\n" in own_stage
    assert 'ENTRYPOINT ["tidegauge"]' in own_stage


# Kubernetes.


@pytest.mark.parametrize("release", RELEASES)
@pytest.mark.parametrize("name", ["endpoint.yaml", "job.yaml"])
def test_kubernetes_knows_the_objects(name: str, release: str) -> None:
    for each in objects(name).values():
        kubernetes_validate.validate(each, release, strict=True)


@pytest.mark.parametrize("release", RELEASES)
@pytest.mark.parametrize("place", ["head", "worker"])
def test_kubernetes_knows_the_pods_of_the_ray_job(place: str, release: str) -> None:
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": place}, **PODS[place]}
    kubernetes_validate.validate(pod, release, strict=True)


def test_a_field_that_kubernetes_does_not_know_is_found() -> None:
    with pytest.raises(kubernetes_validate.ValidationError):
        kubernetes_validate.validate({**SERVICE, "spce": {}}, RELEASES[-1], strict=True)


@pytest.mark.parametrize("pod", ["job", "head"])
def test_the_service_finds_the_driver_and_its_port(pod: str) -> None:
    labels = PODS[pod]["metadata"]["labels"]
    assert SERVICE["spec"]["selector"].items() <= labels.items()
    (container,) = PODS[pod]["spec"]["containers"]
    ports = {port["name"]: port["containerPort"] for port in container["ports"]}
    (served,) = SERVICE["spec"]["ports"]
    assert ports[served["targetPort"]] == served["port"]


def test_the_service_does_not_find_workers() -> None:
    labels = PODS["worker"]["metadata"]["labels"]
    assert not SERVICE["spec"]["selector"].items() <= labels.items()


@pytest.mark.parametrize("pod", PODS)
def test_a_pod_may_do_little_and_has_its_share(pod: str) -> None:
    spec = PODS[pod]["spec"]
    assert spec["automountServiceAccountToken"] is False
    assert spec["securityContext"]["runAsNonRoot"] is True
    assert spec["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    (container,) = spec["containers"]
    assert container["securityContext"]["allowPrivilegeEscalation"] is False
    assert container["securityContext"]["capabilities"] == {"drop": ["ALL"]}
    assert container["resources"].keys() == {"requests", "limits"}
    # Ray's object store, which is 64 MB in a container unless it is given room.
    assert "/dev/shm" in {mount["mountPath"] for mount in container["volumeMounts"]}  # noqa: S108
    volumes = {volume["name"] for volume in spec["volumes"]}
    assert {mount["name"] for mount in container["volumeMounts"]} == volumes


def test_the_ray_job_runs_one_release_of_ray_the_locked_one() -> None:
    locked = re.search(r"^ray==(\S+)", (ROOT / "requirements.lock").read_text(), re.MULTILINE)
    assert locked is not None
    assert RAY_JOB["spec"]["rayClusterSpec"]["rayVersion"] == locked[1]
    assert image_of(HEAD) == image_of(WORKERS["template"])


def test_the_operator_knows_the_ray_job() -> None:
    jsonschema.validate(RAY_JOB["spec"], RAY_JOB_SCHEMA)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({**RAY_JOB["spec"], "shutdownAfterJobFinish": True}, RAY_JOB_SCHEMA)


def test_workers_have_a_cpu_for_each_actor_and_the_head_has_none() -> None:
    actors = re.search(r"--actors (\d+)", RAY_JOB["spec"]["entrypoint"])
    assert actors is not None
    (container,) = PODS["worker"]["spec"]["containers"]
    cpus = WORKERS["replicas"] * int(container["resources"]["requests"]["cpu"])
    assert WORKERS["replicas"] == WORKERS["minReplicas"] == WORKERS["maxReplicas"]
    assert cpus == int(actors[1])
    head = RAY_JOB["spec"]["rayClusterSpec"]["headGroupSpec"]
    assert head["rayStartParams"]["num-cpus"] == "0"


def test_each_worker_is_on_a_machine_of_its_own() -> None:
    (spread,) = PODS["worker"]["spec"]["topologySpreadConstraints"]
    labels = PODS["worker"]["metadata"]["labels"]
    assert (spread["topologyKey"], spread["maxSkew"]) == ("kubernetes.io/hostname", 1)
    assert spread["whenUnsatisfiable"] == "DoNotSchedule"
    assert spread["labelSelector"]["matchLabels"].items() <= labels.items()
    assert not spread["labelSelector"]["matchLabels"].items() <= HEAD["metadata"]["labels"].items()


def test_the_operators_prometheus_scrapes_by_the_runs_own_discovery() -> None:
    assert SCRAPE_CONFIG["apiVersion"] == "monitoring.coreos.com/v1alpha1"
    (discovery,) = SCRAPE_CONFIG["spec"]["httpSDConfigs"]
    name, space = SERVICE["metadata"]["name"], SERVICE["metadata"]["namespace"]
    port = SERVICE["spec"]["ports"][0]["port"]
    assert discovery["url"] == f"http://{name}.{space}.svc:{port}/sd"
    # Trap 2: with a jobName the operator writes over the discovery's `job`.
    assert "jobName" not in SCRAPE_CONFIG["spec"]


def test_all_is_in_the_namespace_that_is_made() -> None:
    space = objects("endpoint.yaml")["Namespace"]["metadata"]["name"]
    for each in (JOB, RAY_JOB, SERVICE, SCRAPE_CONFIG):
        assert each["metadata"]["namespace"] == space


@pytest.mark.parametrize("file", sorted((ROOT / "deploy").rglob("*.y*ml")), ids=lambda f: f.name)
def test_a_run_listens_at_one_port(file: Path) -> None:
    """9404, wherever a port of ours is named."""
    assert set(re.findall(r"--metrics[\s-]+[\d.]+:(\d+)", file.read_text())) <= {"9404"}
