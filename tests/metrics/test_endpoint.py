"""The endpoint over HTTP: what Prometheus gets, and what anybody else."""

from __future__ import annotations

import contextlib
import json
import socket
import threading
import time
from collections.abc import Iterator
from http.client import HTTPConnection, HTTPResponse
from urllib.parse import urlsplit

import pytest
from prometheus_client.parser import text_string_to_metric_families

from cluster_snapshots import healthy, plan_of
from tidegauge.metrics.endpoint.openmetrics_file import Format
from tidegauge.metrics.endpoint.server import Endpoint, EndpointError
from tidegauge.metrics.samples.targets import metrics_path, target_labels, targets_of
from tidegauge.scenario.cluster_plan import ClusterPlan

PLAN = plan_of()
OPENMETRICS = {"Accept": "application/openmetrics-text; version=1.0.0"}


@pytest.fixture
def endpoint() -> Iterator[Endpoint]:
    """One that knows a healthy cluster."""
    with Endpoint(PLAN, port=0) as endpoint:
        endpoint.publish(healthy(PLAN))
        yield endpoint


def connected(endpoint: Endpoint) -> HTTPConnection:
    return HTTPConnection(endpoint.address, timeout=5)


def asked(
    endpoint: Endpoint, path: str, method: str = "GET", headers: dict[str, str] | None = None
) -> tuple[HTTPResponse, str]:
    """The answer and its body."""
    connection = connected(endpoint)
    connection.request(method, path, headers=headers or {})
    answer = connection.getresponse()
    body = answer.read().decode()
    connection.close()
    return answer, body


def told(endpoint: Endpoint, request: bytes) -> bytes:
    """All that comes back for some bytes, until the endpoint ends the connection."""
    host, port = endpoint.address.rsplit(":", 1)
    with socket.create_connection((host, int(port)), timeout=5) as connection:
        connection.sendall(request)
        connection.shutdown(socket.SHUT_WR)
        return b"".join(iter(lambda: connection.recv(65_536), b""))


def test_it_listens_on_loopback_unless_told_otherwise() -> None:
    with Endpoint(PLAN, port=0) as endpoint:
        assert endpoint.address.startswith("127.0.0.1:")


def test_before_the_first_snapshot_there_is_nothing_to_scrape() -> None:
    with Endpoint(PLAN, port=0) as endpoint:
        for target in targets_of(PLAN):
            answer, body = asked(endpoint, metrics_path(PLAN, target))
            assert (answer.status, body) == (503, "the run has not begun\n")
        assert asked(endpoint, "/")[0].status == 200
        assert asked(endpoint, "/-/healthy")[0].status == 200


@pytest.mark.parametrize("target", targets_of(PLAN))
def test_each_target_has_a_page_in_both_formats(endpoint: Endpoint, target: int) -> None:
    path = metrics_path(PLAN, target)
    answer, body = asked(endpoint, path)
    assert (answer.status, answer.headers["Content-Type"]) == (200, Format.TEXT.value)
    assert body.startswith("# HELP ")
    answer, body = asked(endpoint, path, headers=OPENMETRICS)
    assert (answer.status, answer.headers["Content-Type"]) == (200, Format.OPENMETRICS.value)
    assert body.endswith("# EOF\n")


def test_a_dead_broker_answers_503_until_it_is_back(endpoint: Endpoint) -> None:
    # So `up` is 0, and its series end at once.
    snapshot = healthy(PLAN, time_us=11_000_000)
    snapshot.brokers["answers"][1] = snapshot.brokers["alive"][1] = False
    endpoint.publish(snapshot)
    answer, body = asked(endpoint, "/b/2/metrics")
    assert (answer.status, body) == (503, "broker 2 is down\n")
    assert asked(endpoint, "/b/1/metrics")[0].status == 200
    assert 'instance="story-kafka-2"' not in asked(endpoint, "/metrics")[1]

    endpoint.publish(healthy(PLAN, time_us=12_000_000))
    assert asked(endpoint, "/b/2/metrics")[0].status == 200


def test_a_paused_broker_answers_503(endpoint: Endpoint) -> None:
    snapshot = healthy(PLAN, time_us=11_000_000)
    snapshot.brokers["answers"][1] = False
    endpoint.publish(snapshot)
    assert asked(endpoint, "/b/2/metrics")[1] == "broker 2 is paused\n"


def test_the_discovery_names_each_target_with_its_labels(endpoint: Endpoint) -> None:
    answer, body = asked(endpoint, "/sd")
    assert answer.headers["Content-Type"] == "application/json"
    groups = json.loads(body)
    assert [group["targets"] for group in groups] == [[endpoint.address]] * 6
    for group, target in zip(groups, targets_of(PLAN), strict=True):
        labels = group["labels"]
        path = labels.pop("__metrics_path__")
        assert labels == target_labels(PLAN, target)
        assert asked(endpoint, path)[0].status == 200


def test_labels_are_those_that_strimzis_dashboards_look_for() -> None:
    labels = target_labels(PLAN, 1)
    assert labels["kubernetes_pod_name"] == labels["pod"] == labels["instance"] == "story-kafka-2"
    assert labels["strimzi_io_name"] == "story-kafka"
    assert labels["strimzi_io_cluster"] == labels["kafka_cluster"] == "story"
    assert (labels["job"], labels["container"]) == ("kafka", "kafka")


@pytest.mark.parametrize(
    ("name", "cluster"),
    [
        ("Rack B: power (loss)!", "rack-b-power-loss"),
        ("---", "cluster"),
        ("x" * 200, "x" * 40),
        ("Größe_7", "gr-e-7"),
    ],
)
def test_a_scenarios_name_is_made_fit_for_kubernetes(name: str, cluster: str) -> None:
    assert target_labels(plan_of(name=name), 0)["kafka_cluster"] == cluster


@pytest.mark.parametrize(
    ("host", "address"),
    [
        ("tidegauge.metrics.svc:9404", "tidegauge.metrics.svc:9404"),
        ("[::1]:9404", "[::1]:9404"),
        ("localhost", "localhost"),
        ('evil"<host>', None),
        ("a/b:80", None),
        ("", None),
        ("x" * 300, None),
    ],
)
def test_targets_are_where_the_client_has_found_the_endpoint(
    endpoint: Endpoint, host: str, address: str | None
) -> None:
    _, body = asked(endpoint, "/sd", headers={"Host": host})
    assert json.loads(body)[0]["targets"] == [address or endpoint.address]


def test_a_page_is_made_once_for_each_snapshot(endpoint: Endpoint) -> None:
    first = asked(endpoint, "/b/1/metrics")[1]
    assert asked(endpoint, "/b/1/metrics")[1] == first
    snapshot = healthy(PLAN, time_us=11_000_000)
    snapshot.brokers["leader_count"] = 77
    endpoint.publish(snapshot)
    assert "leadercount 77" in asked(endpoint, "/b/1/metrics")[1]


def test_scrapes_are_counted_as_they_come(endpoint: Endpoint) -> None:
    for _ in range(3):
        asked(endpoint, "/b/3/metrics")
    for count in (1, 2):
        lines = asked(endpoint, "/simulation/metrics")[1].splitlines()
        assert f'tidegauge_scrapes_total{{target="story-simulation"}} {count}.0' in lines
        assert 'tidegauge_scrapes_total{target="story-kafka-3"} 3.0' in lines


def test_people_get_a_page_that_says_what_there_is(endpoint: Endpoint) -> None:
    answer, body = asked(endpoint, "/")
    assert answer.headers["Content-Type"] == "text/html; charset=utf-8"
    assert "10.0 s of virtual time" in body
    for target in targets_of(PLAN):
        assert f'href="{metrics_path(PLAN, target)}"' in body


def test_a_scenarios_name_cannot_become_part_of_the_page() -> None:
    with Endpoint(plan_of(name="<script>alert(1)</script>"), port=0) as endpoint:
        assert "<script>" not in asked(endpoint, "/")[1]


def test_the_page_of_all_targets_gives_each_sample_the_labels_of_its_own(
    endpoint: Endpoint,
) -> None:
    _, body = asked(endpoint, "/metrics")
    jobs = {
        family.name: {
            (sample.labels["job"], sample.labels["instance"]) for sample in family.samples
        }
        for family in text_string_to_metric_families(body)
    }
    brokers = {("kafka", f"story-kafka-{broker}") for broker in (1, 2, 3)}
    assert jobs["kafka_server_replicamanager_leadercount"] == brokers
    assert jobs["kafka_brokers"] == {("kafka-exporter", "story-kafka-exporter")}
    assert jobs["tidegauge_zookeeper_sessions"] == {("tidegauge-controller", "story-controller")}
    assert jobs["tidegauge_virtual_time_seconds"] == {("tidegauge", "story-simulation")}


def test_head_is_get_without_the_body(endpoint: Endpoint) -> None:
    whole, body = asked(endpoint, "/b/1/metrics")
    answer, nothing = asked(endpoint, "/b/1/metrics", method="HEAD")
    assert (answer.status, nothing) == (200, "")
    assert answer.headers["Content-Length"] == whole.headers["Content-Length"] == str(len(body))


@pytest.mark.parametrize(
    "path",
    [
        *("/b/4/metrics", "/b/0/metrics", "/b/-1/metrics", "/b/01/metrics", "/b//metrics"),
        *("/b/1/metrics/", "/b/1", "/favicon.ico", "/../../etc/passwd", "/%00", "/metrics%20"),
        *("*", "/b/99999999999999999999/metrics"),
    ],
)
def test_there_is_nothing_elsewhere(endpoint: Endpoint, path: str) -> None:
    assert asked(endpoint, path)[0].status == 404


def test_a_query_is_ignored(endpoint: Endpoint) -> None:
    assert asked(endpoint, "/b/1/metrics?name[]=x")[0].status == 200


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "FROB"])
def test_only_reading_is_allowed(endpoint: Endpoint, method: str) -> None:
    answer, _ = asked(endpoint, "/metrics", method=method)
    assert (answer.status, answer.headers["Allow"]) == (405, "GET, HEAD")


@pytest.mark.parametrize(
    "request_text",
    [
        b"GARBAGE\r\n\r\n",
        b"GET /\r\n\r\n",
        b"GET / HTTP/9.9\r\n\r\n",
        b"GET / HTTP/2.0\r\nHost: x\r\n\r\n",
        b"GET / HTTP/one\r\n\r\n",
        b"GET / / HTTP/1.1\r\n\r\n",
        b"GET / HTTP/1.1\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
        b"GET http://[ HTTP/1.1\r\nHost: a\r\n\r\n",
        b"GET /" + b"x" * 70_000 + b" HTTP/1.1\r\nHost: a\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: a\r\nX: " + b"x" * 70_000 + b"\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: a\r\n" + b"X: x\r\n" * 200 + b"\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03 \x00 \x01\r\n\r\n",
        b"\x00\xff \x80 HTTP/1.1\r\n\r\n",
    ],
    ids=lambda text: repr(text[:24]),
)
def test_what_is_no_request_is_refused(endpoint: Endpoint, request_text: bytes) -> None:
    head = told(endpoint, request_text).split(b"\r\n\r\n")[0]
    assert head.startswith(b"HTTP/1.1 4")
    assert b"Traceback" not in head
    assert asked(endpoint, "/-/healthy")[0].status == 200


def test_a_body_is_not_taken_for_the_next_request(endpoint: Endpoint) -> None:
    smuggled = b"DELETE / HTTP/1.1\r\nHost: x\r\n\r\n"
    head = b"GET /-/healthy HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n" % len(smuggled)
    answer = told(endpoint, head + smuggled)
    assert answer.count(b"HTTP/1.1 ") == 1
    assert b"\r\nConnection: close\r\n" in answer


def test_nothing_is_written_to_the_console(
    endpoint: Endpoint, capfd: pytest.CaptureFixture[str]
) -> None:
    asked(endpoint, "/metrics")
    asked(endpoint, "/nowhere")
    told(endpoint, b"GARBAGE\r\n\r\n")
    host, port = endpoint.address.rsplit(":", 1)
    for _ in range(3):
        # A client that goes away before it has read its page.
        with socket.create_connection((host, int(port))) as connection:
            linger = b"\x01\x00\x00\x00\x00\x00\x00\x00"
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
            connection.sendall(b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n" * 20)
    time.sleep(0.2)
    assert capfd.readouterr() == ("", "")


def test_a_connection_serves_one_scrape_after_the_other(endpoint: Endpoint) -> None:
    connection = connected(endpoint)
    for _ in range(3):
        connection.request("GET", "/b/1/metrics")
        answer = connection.getresponse()
        assert answer.status == 200
        assert not answer.will_close
        answer.read()
    connection.close()


def test_clients_that_say_nothing_hold_up_nobody(endpoint: Endpoint) -> None:
    host, port = endpoint.address.rsplit(":", 1)
    silent = [socket.create_connection((host, int(port))) for _ in range(20)]
    assert asked(endpoint, "/b/1/metrics")[0].status == 200
    for connection in silent:
        connection.close()


def test_there_is_a_limit_to_connections(endpoint: Endpoint) -> None:
    host, port = endpoint.address.rsplit(":", 1)
    held = [socket.create_connection((host, int(port)), timeout=5) for _ in range(200)]
    time.sleep(0.3)
    threads = [thread for thread in threading.enumerate() if "process_request" in thread.name]
    assert 0 < len(threads) < 100
    for connection in held:
        connection.close()
    deadline = time.monotonic() + 5
    while time.monotonic() < deadline:
        try:
            assert asked(endpoint, "/-/healthy")[0].status == 200
            break
        except ConnectionError:  # their threads have not noticed yet
            time.sleep(0.05)
    else:
        pytest.fail("the endpoint has not recovered")


def test_many_scrape_while_snapshots_come(endpoint: Endpoint) -> None:
    bad: list[object] = []

    def scrape() -> None:
        for _ in range(20):
            answer, body = asked(endpoint, "/b/1/metrics")
            leaders = [line for line in body.splitlines() if "_leadercount " in line]
            replicas = [line for line in body.splitlines() if "_partitioncount " in line]
            if answer.status != 200 or leaders[-1].split()[-1] != replicas[-1].split()[-1]:
                bad.append((answer.status, leaders, replicas))

    threads = [threading.Thread(target=scrape) for _ in range(4)]
    for thread in threads:
        thread.start()
    for number in range(50):
        snapshot = healthy(PLAN, time_us=(20 + number) * 1_000_000)
        snapshot.brokers["leader_count"] = snapshot.brokers["partition_count"] = number
        endpoint.publish(snapshot)
    for thread in threads:
        thread.join()
    assert not bad, "a page is of one snapshot"


def test_it_ends_at_once_though_clients_are_connected() -> None:
    with Endpoint(PLAN, port=0) as endpoint:
        endpoint.publish(healthy(PLAN))
        waiting = connected(endpoint)
        waiting.request("GET", "/b/1/metrics")
        waiting.getresponse().read()
        host, port = endpoint.address.rsplit(":", 1)
        silent = socket.create_connection((host, int(port)))
        half = socket.create_connection((host, int(port)))
        half.sendall(b"GET / HT")
        began = time.monotonic()
    assert time.monotonic() - began < 5, "less than the silence that a connection may keep"
    for connection in (silent, half):
        connection.settimeout(1)
        with contextlib.suppress(ConnectionError):  # one that was not taken yet is reset
            # Nothing, or that half a request is none.
            assert not connection.recv(1000).startswith(b"HTTP/1.1 2")
        connection.close()
    waiting.close()
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection((host, int(port)), timeout=1)
    assert not [thread for thread in threading.enumerate() if thread.name == "metrics"]


def test_its_port_is_free_again_at_once() -> None:
    with Endpoint(PLAN, port=0) as endpoint:
        port = int(endpoint.address.rsplit(":", 1)[1])
        asked(endpoint, "/")
    with Endpoint(PLAN, port=port) as endpoint:
        assert asked(endpoint, "/")[0].status == 200


@pytest.mark.parametrize(
    ("host", "port", "problem"),
    [
        ("127.0.0.1", -1, "port -1 is not from 0 to 65535"),
        ("127.0.0.1", 70_000, "port 70000 is not from 0 to 65535"),
        ("no.such.host.invalid", 9404, "there is no host 'no.such.host.invalid'"),
        ("a" * 300, 9404, "there is no host"),
        ("192.0.2.1", 9404, "this machine does not have that address"),
    ],
)
def test_an_address_that_cannot_be_had_is_one_clear_line(
    host: str, port: int, problem: str
) -> None:
    with pytest.raises(EndpointError) as caught:
        Endpoint(PLAN, host, port)
    assert problem in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_port_in_use_is_found_out_before_anything_is_served() -> None:
    first = Endpoint(PLAN, port=0)
    port = int(first.address.rsplit(":", 1)[1])
    with pytest.raises(EndpointError, match=rf"127\.0\.0\.1:{port}: the port is in use"):
        Endpoint(PLAN, port=port)
    first.close()


def test_it_serves_over_ipv6_where_there_is_any() -> None:
    try:
        endpoint = Endpoint(PLAN, "::1", 0)
    except EndpointError as error:
        pytest.skip(str(error))
    with endpoint:
        assert urlsplit(f"//{endpoint.address}").hostname == "::1"
        _, body = asked(endpoint, "/sd")
        assert json.loads(body)[0]["targets"] == [endpoint.address]


def test_a_cluster_that_is_empty_of_topics_has_pages_too() -> None:
    plan: ClusterPlan = plan_of(topics=[], workload={})
    with Endpoint(plan, port=0) as endpoint:
        endpoint.publish(healthy(plan))
        for target in targets_of(plan):
            assert asked(endpoint, metrics_path(plan, target))[0].status == 200
