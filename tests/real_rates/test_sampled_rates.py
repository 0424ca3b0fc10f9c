"""``tidegauge import --samples``: rates from files, in every spelling and every format."""

from __future__ import annotations

import json
import os
import re
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from typer.testing import CliRunner, Result

from importing import in_one_line
from prometheus_server import needs_prometheus, needs_promtool, prometheus
from tidegauge.command_line import app
from tidegauge.metrics.spellings.all_spellings import SPELLINGS, spelling_of
from watched_cluster import GROUPS, RATES, described, largest_deviation, rates_in
from watched_runs import BEGINS_S, SCRAPES_S, record_metrics

RULES = Path(__file__).parents[1] / "data" / "real_input" / "acme-jmx-rules.yaml"
OWN = RULES.stem
#: In seconds; the run ends after 40.
BETWEEN_S = SCRAPES_S["second"] - SCRAPES_S["first"]
END_S = BEGINS_S + 40


@pytest.fixture(scope="session")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the metrics of a run in all spellings."""
    folder = tmp_path_factory.mktemp("recorded")
    record_metrics(folder, [*SPELLINGS.values(), spelling_of(str(RULES))])
    return folder


@pytest.fixture
def dump(tmp_path: Path) -> Path:
    file = tmp_path / "describe.txt"
    file.write_text(described())
    return file


def run(dump: Path, *words: str | Path) -> Result:
    out = dump.with_name("mine.yaml")
    return CliRunner().invoke(app, ["import", str(dump), "-o", str(out), *map(str, words)])


def imported(dump: Path, *words: str | Path) -> dict[str, Any]:
    result = run(dump, *words)
    assert result.exit_code == 0, result.output
    data: dict[str, Any] = yaml.safe_load(dump.with_name("mine.yaml").read_text())
    return data


def refusal(dump: Path, *words: str | Path) -> str:
    """The one line of an error; nothing is written."""
    result = run(dump, *words)
    assert result.exit_code == 2, result.output
    assert len(result.stderr.splitlines()) == 1, result.stderr
    assert list(dump.parent.glob("mine.yaml*")) == []
    return result.stderr.removeprefix("tidegauge: ").strip()


def of_rules(name: str) -> list[str]:
    return ["--metrics-spelling", str(RULES)] if name == OWN else []


def groups_in(data: dict[str, Any]) -> dict[str, tuple[list[str], int]]:
    return {
        group["name"]: (group["topics"], group.get("clients", 1))
        for group in data["workload"]["consumers"]
    }


# Spellings.


@pytest.mark.parametrize("name", [*SPELLINGS, OWN])
def test_the_rates_of_a_run_are_found_in_every_spelling(
    name: str, recorded: Path, dump: Path
) -> None:
    words: list[str | Path] = [
        "--samples",
        recorded / f"{name}.om",
        "--over",
        "25s",
        *of_rules(name),
    ]
    result = run(dump, *words)
    assert result.exit_code == 0, result.output
    data = yaml.safe_load(dump.with_name("mine.yaml").read_text())
    assert largest_deviation(rates_in(data), RATES) < 0.01
    assert groups_in(data) == GROUPS
    assert "over 25s up to 2026-11-18" in in_one_line(result.output)
    recognised = re.search(r"by the names of (.*?) brokers: ", in_one_line(result.output))
    assert recognised is not None
    assert (RULES if name == OWN else name) in (RULES, *re.findall(r"[\w-]+", recognised[1]))
    assert "request handlers: idle 9" in in_one_line(result.output)
    has_network = "network threads: idle 100.0%" in in_one_line(result.output)
    assert has_network == (name != OWN)


def test_from_4_2_handlers_of_brokers_have_a_metric_of_their_own(
    recorded: Path, dump: Path, tmp_path: Path
) -> None:
    """KIP-1207: the mean of a node that is broker and controller counts both pools."""
    plain, own_name = "kafkarequesthandlerpool_request", "kafkarequesthandlerpool_brokerrequest"
    text = (recorded / "jmx-exporter-example.om").read_text()
    (tmp_path / "4.2.om").write_text(text.replace(plain, own_name))
    result = run(dump, "--samples", tmp_path / "4.2.om", "--over", "25s")
    assert re.search(rf"request handlers: idle 9.*{own_name}", in_one_line(result.output))


@pytest.mark.parametrize("name", [*SPELLINGS, OWN])
def test_two_scrapes_of_all_brokers_give_rates(name: str, recorded: Path, dump: Path) -> None:
    words = [str(word) for each in SCRAPES_S for word in ("--samples", recorded / name / each)]
    data = imported(dump, *words, "--over", f"{BETWEEN_S}s", *of_rules(name))
    assert largest_deviation(rates_in(data), RATES) < 0.02
    assert groups_in(data) == GROUPS


def test_spellings_that_are_alike_are_all_named(recorded: Path, dump: Path) -> None:
    result = run(dump, "--samples", recorded / "confluent.om")
    assert "grafana-cloud (Grafana's kafka-mixin), which are those of confluent, too" in (
        " ".join(result.output.split())
    )
    result = run(dump, "--samples", recorded / "confluent.om", "--force", *CONFLUENT)
    assert "by the names of confluent (Confluent's rules for the JMX exporter)" in in_one_line(
        result.output
    )


CONFLUENT = ("--metrics-spelling", "confluent")


def test_without_metrics_of_brokers_offsets_give_rates(recorded: Path, dump: Path) -> None:
    """kafka_exporter alone, of which there are two: partitions count once."""
    text = (recorded / "strimzi.om").read_text()
    lines = [line for line in text.splitlines() if line.startswith(("kafka_topic", "kafka_cons"))]
    twice = [line.replace("strimzi-kafka-exporter", "another") for line in lines]
    file = dump.with_name("exporter.om")
    file.write_text("\n".join([*lines, *twice]))
    data = imported(dump, "--samples", file, "--over", "25s")
    found = rates_in(data)
    expected = {topic: (messages, messages * 200) for topic, (messages, _) in RATES.items()}
    assert largest_deviation(found, expected) < 0.02
    assert groups_in(data) == GROUPS
    notices = " ".join(dump.with_name("mine.yaml").read_text().replace("#", "").split())
    assert "messages of kafka_topic_partition_current_offset" in notices
    assert "records of 200 bytes are assumed" in notices


def test_bytes_of_all_topics_give_the_size_of_a_record(dump: Path) -> None:
    file = dump.with_name("sums.om")
    name = "kafka_server_brokertopicmetrics"
    file.write_text(
        f"{name}_messagesin_total 1 1000\n"
        f"{name}_bytesin_total 0 1000\n"
        f"{name}_bytesin_total 60000 1060\n"
        'kafka_topic_partition_current_offset{topic="orders",partition="0"} 5 1000\n'
        'kafka_topic_partition_current_offset{topic="orders",partition="0"} 605 1060\n'
    )
    result = run(dump, "--samples", file)
    assert "records of 100 bytes, the mean of all topics, are assumed: orders" in in_one_line(
        result.output
    )
    assert "messages of kafka_topic_partition_current_offset" in in_one_line(result.output)
    data = yaml.safe_load(dump.with_name("mine.yaml").read_text())
    assert rates_in(data)["orders"] == pytest.approx((10, 1000))


# Formats.


def test_the_times_of_files_are_those_of_scrapes_without_timestamps(
    recorded: Path, dump: Path
) -> None:
    words: list[str | Path] = []
    for name, time_s in SCRAPES_S.items():
        for file in (recorded / "bitnami" / name).iterdir():
            os.utime(file, (END_S, END_S + time_s))
        words += ["--samples", recorded / "bitnami" / name / "*.prom"]
    assert largest_deviation(rates_in(imported(dump, *words)), RATES) < 0.02


def test_one_scrape_has_rates_only_where_kafkas_own_are_served(dump: Path) -> None:
    file = dump.with_name("page.prom")
    name = "kafka_server_BrokerTopicMetrics"
    file.write_text(
        f'{name}_Count{{name="MessagesInPerSec",topic="orders",}} 7.0\n'
        f'{name}_OneMinuteRate{{name="MessagesInPerSec",topic="orders",}} 120.5\n'
        f'{name}_OneMinuteRate{{name="BytesInPerSec",topic="orders",}} 12050.0\n'
        f'{name}_OneMinuteRate{{name="MessagesInPerSec",}} 1000.0\n'
    )
    result = run(dump, "--samples", file)
    assert "messages of kafka_server_BrokerTopicMetrics_OneMinuteRate" in in_one_line(result.output)
    data = yaml.safe_load(dump.with_name("mine.yaml").read_text())
    assert rates_in(data)["orders"] == pytest.approx((120.5, 12050), rel=1e-4)


def series_of(recorded: Path, *metrics: str) -> dict[str, tuple[dict[str, str], list[Any]]]:
    """The samples of some metrics in a recorded file, as a Prometheus would have them."""
    found: dict[str, tuple[dict[str, str], list[Any]]] = {}
    for line in (recorded / "strimzi.om").read_text().splitlines():
        match = re.fullmatch(r"(\w+)\{(.*)\} (\S+) (\S+)", line)
        if match and any(metric in match[1] for metric in metrics):
            labels = dict(re.findall(r'(\w+)="([^"]*)"', match[2]))
            _, samples = found.setdefault(
                f"{match[1]}{match[2]}", ({"__name__": match[1], **labels}, [])
            )
            samples.append([float(match[4]), match[3]])
    return found


def response(result: list[dict[str, Any]], kind: str) -> str:
    return json.dumps({"status": "success", "data": {"resultType": kind, "result": result}})


def as_matrix(recorded: Path, folder: Path) -> list[Path]:
    found = series_of(recorded, "messagesin", "bytesin")
    series = [{"metric": labels, "values": samples} for labels, samples in found.values()]
    (folder / "range.json").write_text(response(series, "matrix"))
    return [folder / "range.json"]


def as_two_vectors(recorded: Path, folder: Path) -> list[Path]:
    found = series_of(recorded, "messagesin", "bytesin")
    for name, place in (("first.json", 3), ("second.json", -1)):
        series = [{"metric": labels, "value": samples[place]} for labels, samples in found.values()]
        (folder / name).write_text(response(series, "vector"))
    return [folder / "first.json", folder / "second.json"]


def as_tsdb_dump(recorded: Path, folder: Path) -> list[Path]:
    lines = []
    for labels, samples in series_of(recorded, "messagesin", "bytesin").values():
        text = ", ".join(f'{name}="{value}"' for name, value in labels.items())
        lines += [f"{{{text}}} {value} {round(time * 1000)}" for time, value in samples]
    (folder / "dump.txt").write_text("\n".join(lines) + "\n")
    return [folder / "dump.txt"]


@pytest.mark.parametrize("written", [as_matrix, as_two_vectors, as_tsdb_dump])
def test_saved_responses_and_dumps_of_a_storage_are_read(
    written: Callable[[Path, Path], list[Path]], recorded: Path, dump: Path
) -> None:
    files = written(recorded, dump.parent)
    words = [str(word) for file in files for word in ("--samples", file)]
    if len(files) == 1:
        words += ["--over", "25s", "--at", f"{END_S:.0f}"]
    data = imported(dump, *words)
    assert largest_deviation(rates_in(data), RATES) < 0.01


# What the rates become.


def test_a_counter_that_begins_again_counts_from_0(dump: Path) -> None:
    file = dump.with_name("restart.om")
    name = "kafka_server_brokertopicmetrics_messagesin_total"
    values = [(0, 1000), (10, 1100), (20, 40), (30, 140)]
    file.write_text(
        "".join(f'{name}{{topic="orders"}} {value} {1000 + at}\n' for at, value in values)
    )
    (found,) = rates_in(imported(dump, "--samples", file)).values()
    assert found[0] == pytest.approx(8, rel=0.01)


def test_targets_are_scraped_at_times_of_their_own(dump: Path) -> None:
    """One has a sample more in the window, one has died in the middle of it."""
    name = "kafka_server_brokertopicmetrics_messagesin_total"
    times = {"1": range(0, 301, 15), "2": range(7, 301, 15), "3": range(0, 151, 15)}
    file = dump.with_name("window.om")
    file.write_text(
        "".join(
            f'{name}{{topic="orders",instance="{broker}"}} {100 * at} {1000 + at}\n'
            for broker, scraped in times.items()
            for at in scraped
        )
    )
    (found,) = rates_in(imported(dump, "--samples", file)).values()
    assert found[0] == pytest.approx(250, rel=0.001)


@pytest.mark.parametrize("numbers", [(4, 4), (4, 16)])
def test_busy_threads_are_those_of_the_settings(
    numbers: tuple[int, int], recorded: Path, dump: Path
) -> None:
    words: list[str | Path] = ["--samples", recorded / "strimzi.om"]
    for broker, number in enumerate(numbers, start=1):
        file = dump.with_name(f"server-{broker}.properties")
        file.write_text(f"broker.id={broker}\nnum.io.threads={number}\n")
        words += ["--properties", file]
    output = in_one_line(run(dump, *words).output)
    assert ("with num.io.threads=4, as in the scenario, 0.0" in output) == (numbers == (4, 4))
    assert ("; brokers differ in num.io.threads" in output) == (numbers == (4, 16))


def page(*topics: str, label: str = "") -> str:
    name = "kafka_server_brokertopicmetrics_messagesin_total"
    return "".join(
        f'{name}{{topic="{topic}"{label}}} {value} {time}\n'
        for topic in topics
        for time, value in ((1000, 0), (1060, 6000))
    )


def test_names_that_an_exporter_has_mangled_are_those_of_the_dump(dump: Path) -> None:
    file = dump.with_name("mangled.om")
    file.write_text(page("payments_v2", "orders", "__consumer_offsets", "gone"))
    result = run(dump, "--samples", file)
    assert "under another name: payments.v2 is payments_v2" in in_one_line(result.output)
    assert "left out: topics that the dump does not have: gone" in in_one_line(result.output)
    assert "these topics have no series, so no producer: clicks, slow_log, idle" in in_one_line(
        result.output
    )
    data = yaml.safe_load(dump.with_name("mine.yaml").read_text())
    assert {name: rate[0] for name, rate in rates_in(data).items()} == {
        "orders": pytest.approx(100),
        "payments.v2": pytest.approx(100),
    }


@pytest.mark.parametrize("kinds", [7, 700])
def test_many_topics_share_groups_of_producers(kinds: int, tmp_path: Path) -> None:
    """Similar ones, so that the rate of each is right as long as there are few kinds."""
    partitions = {f"t{number}": number % 3 + 1 for number in range(700)}
    rates = {topic: 1.0 + place % kinds for place, topic in enumerate(partitions)}
    dump, file = tmp_path / "describe.txt", tmp_path / "many.om"
    dump.write_text(
        "".join(
            f"Topic: {topic}\tPartitionCount: {count}\tReplicationFactor: 1\tConfigs: \n"
            + "".join(
                f"\tTopic: {topic}\tPartition: {number}\tLeader: 1\tReplicas: 1\tIsr: 1\n"
                for number in range(count)
            )
            for topic, count in partitions.items()
        )
    )
    name = "kafka_server_brokertopicmetrics_messagesin_total"
    file.write_text(
        "".join(
            f'{name}{{topic="{topic}"}} {rate * at} {1000 + at}\n'
            for topic, rate in rates.items()
            for at in (0, 60)
        )
    )
    groups = imported(dump, "--samples", file)["workload"]["producers"]
    assert 501 <= len(groups) <= 700
    deviations = []
    for group in groups:
        of_partition = group["batches_per_second"] * group["records_per_batch"]
        of_partition /= sum(partitions[topic] for topic in group["topics"])
        deviations += [
            abs(of_partition * partitions[topic] / rates[topic] - 1) for topic in group["topics"]
        ]
    assert len(deviations) == 700
    assert max(deviations) < 0.05


# Errors.


ERRORS = {
    "not a sample\n": "page.om:1: is not a sample: 'not a sample'",
    "": "page.om: has no samples",
    "up 1\n": "page.om: has no sample of a metric of Kafka (kafka_...)",
    "kafka_server_brokerstate 3\n": "page.om: has no sample of a known metric of Kafka",
    'kafka_consumergroup_lag{consumergroup="a"} 3\n': "page.om: has no messages of topics;",
    page("gone"): "page.om: has rates of gone, and none of these topics is in the dump",
    page("orders").splitlines()[0]: "page.om: series of kafka_server_brokertopicmetrics_messagesin",
    page("orders").replace('topic="orders"', "")
    + "": "page.om: kafka_server_brokertopicmetrics_messagesin_total has no series with the label",
    page("orders", label=',cluster="a"') + page("orders", label=',cluster="b"'): (
        "page.om: kafka_server_brokertopicmetrics_messagesin_total has 2 values of the label "
        "cluster: a, b; choose one, such as --match 'cluster=\"a\"'"
    ),
    page("orders").replace("6000", "six"): "page.om:2: has a value that is not a number: 'six'",
    page("orders").replace("6000", "6e15"): "page.om: orders has 1e+14 messages and 2e+16 bytes",
    "<html>": "page.om: is neither samples nor JSON",
    "{}": "page.om: is not a response of /api/v1/query or /api/v1/query_range",
    '{"status": "error", "error": "too many"}': "page.om: is an error of Prometheus: too many",
    response([{"metric": {"topic": "orders"}, "value": [1, "2"]}], "vector"): (
        "page.om: has series without a name: save the series themselves"
    ),
    response([{"metric": {"__name__": "kafka_a"}, "value": 7}], "vector"): (
        "page.om: has samples of kafka_a that are none"
    ),
}


@pytest.mark.parametrize(("text", "expected"), ERRORS.items(), ids=range(len(ERRORS)))
def test_files_that_give_no_rates_are_refused(text: str, expected: str, dump: Path) -> None:
    file = dump.with_name("page.om")
    file.write_text(text)
    assert expected in refusal(dump, "--samples", file)


OPTIONS = {
    ("--samples", "none.om"): "none.om: cannot be read: No such file or directory",
    ("--samples", "no*.om"): "no*.om: matches no file",
    ("--at", "now"): "--at needs --prometheus or --samples",
    ("--match", "a"): "--match needs --prometheus or --samples",
    ("--samples", "a", "--rates", "b"): "--rates excludes --samples: rates have one origin",
    ("--samples", "a", "--at", "noon"): "--at noon: must be a time such as 2026-11-24T17:40:00Z",
    ("--samples", "a", "--at", "2026-11-24T17:40:00"): "needs a time zone, such as Z or +02:00",
    ("--samples", "a", "--over", "0s"): "--over 0s: must be 1s or more",
    ("--samples", "a", "--over", "long"): "--over long: must be a duration",
    (
        "--samples",
        "a",
        "--match",
        "cluster=a",
    ): "must be matchers of labels, such as 'cluster=\"a\"'",
    ("--samples", "a", "--match", 'a=~"("'): "'(' is not a regular expression",
    ("--samples", "a", "--metrics-spelling", "x"): "--metrics-spelling x: must be one of strimzi",
    ("--prometheus", "prometheus:9090"): "--prometheus: must be a URL of a Prometheus",
}


@pytest.mark.parametrize("words", OPTIONS, ids=" ".join)
def test_options_that_cannot_be_are_refused(words: tuple[str, ...], dump: Path) -> None:
    assert OPTIONS[words] in refusal(dump, *words)


def test_labels_and_times_that_no_series_has_are_refused(dump: Path) -> None:
    file = dump.with_name("page.om")
    file.write_text(page("orders", label=',cluster="a"'))
    words: list[str | Path] = ["--samples", file]
    assert 'no series that rates come from has cluster="z"' in refusal(
        dump, *words, "--match", 'cluster="z"'
    )
    assert "has no sample in 5m up to 1970-01-01 02:46:40 UTC; its samples are from" in refusal(
        dump, *words, "--at", "10000"
    )


def test_two_files_of_one_moment_are_refused(recorded: Path, dump: Path) -> None:
    file = recorded / "strimzi" / "first" / "broker-1.prom"
    assert "--over 60s means a minute between the scrapes" in refusal(
        dump, "--samples", file, "--samples", file
    )


# A real Prometheus with the same series.


@pytest.fixture(scope="module")
def filled(recorded: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The URL of a Prometheus with the series of all spellings, each as a cluster of its own."""
    folder = tmp_path_factory.mktemp("filled")
    for name in (*SPELLINGS, OWN):
        command = ["promtool", "tsdb", "create-blocks-from", "openmetrics"]
        command += [str(recorded / f"{name}.om"), str(folder / "data")]
        subprocess.run(command, check=True, capture_output=True)
    (folder / "prometheus.yml").write_text("{}\n")
    with prometheus(folder / "prometheus.yml", folder) as running:
        yield running.url


@pytest.mark.long
@needs_prometheus
@needs_promtool
@pytest.mark.parametrize("name", [*SPELLINGS, OWN])
def test_a_real_prometheus_has_the_same_rates(name: str, filled: str, dump: Path) -> None:
    words = ["--prometheus", filled, "--match", f'kafka_cluster="{name}"', "--over", "25s"]
    data = imported(dump, *words, "--at", f"{END_S:.0f}", *of_rules(name))
    assert largest_deviation(rates_in(data), RATES) < 0.05
    assert groups_in(data) == GROUPS


@pytest.mark.long
@needs_prometheus
@needs_promtool
def test_a_real_prometheus_has_the_rates_of_offsets(filled: str, dump: Path) -> None:
    words = ["--prometheus", filled, "--match", 'kafka_cluster="strimzi",job="kafka-exporter"']
    data = imported(dump, *words, "--over", "25s", "--at", f"{END_S:.0f}")
    expected = {topic: (messages, messages * 200) for topic, (messages, _) in RATES.items()}
    assert largest_deviation(rates_in(data), expected) < 0.05
    assert groups_in(data) == GROUPS


@pytest.mark.long
@needs_prometheus
@needs_promtool
def test_spellings_of_several_clusters_are_not_taken_for_one(filled: str, dump: Path) -> None:
    refused = refusal(dump, "--prometheus", filled, "--over", "25s", "--at", f"{END_S:.0f}")
    assert "has 7 values of the label kafka_cluster: bitnami, confluent," in refused
