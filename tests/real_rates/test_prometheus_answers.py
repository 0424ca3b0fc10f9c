"""What a Prometheus, or something else at its address, may answer."""

from __future__ import annotations

import base64
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
import yaml
from typer.testing import CliRunner, Result

from importing import in_one_line
from prometheus_server import free_port
from tidegauge.command_line import app
from watched_cluster import described, rates_in

MESSAGES = "kafka_server_brokertopicmetrics_messagesin_total"
BYTES = "kafka_server_brokertopicmetrics_bytesin_total"
AT_S = 1_795_000_000


class Answers:
    """The content and status that a server answers with, and the requests that it had."""

    def __init__(self, content: bytes | None = None, status: int = 200) -> None:
        self.content = content
        self.status = status
        self.requests: list[tuple[str, dict[str, str], str | None]] = []

    def answer(self, path: str, query: dict[str, str]) -> bytes:
        if self.content is not None:
            return self.content
        return json.dumps({"status": "success", "data": saved(path, query)}).encode()


def saved(path: str, query: dict[str, str]) -> Any:
    """The responses of a Prometheus with one topic of 100 messages and 5,000 bytes a second."""
    if path.endswith("/label/__name__/values"):
        return [MESSAGES, BYTES, "kafka_server_replicamanager_leadercount"]
    asked = query["query"]
    if path.endswith("/query_range"):
        begin, end, step = (float(query[name]) for name in ("start", "end", "step"))
        times = [begin + step * place for place in range(round((end - begin) / step) + 1)]
        return {
            "resultType": "matrix",
            "result": [{"metric": {}, "values": [[t, "3"] for t in times]}],
        }
    if asked.startswith("max(timestamp"):
        labels, value = {}, float(query["time"])
    elif "count_over_time" in asked:
        labels, value = {"topic": "orders", "cluster": "a"}, 20
    else:
        labels, value = {"topic": "orders"}, 100 if MESSAGES in asked else 5000
    sample = {"metric": labels, "value": [float(query["time"]), str(value)]}
    return {"resultType": "vector", "result": [sample]}


@contextmanager
def serving(answers: Answers) -> Iterator[str]:
    """The address of a server while inside."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            parts = urlsplit(self.path)
            query = {name: values[0] for name, values in parse_qs(parts.query).items()}
            answers.requests.append((parts.path, query, self.headers["Authorization"]))
            content = answers.answer(parts.path, query)
            self.send_response(answers.status)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *arguments: object) -> None:
            del arguments

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.05,))
    thread.start()
    try:
        yield f"127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@pytest.fixture
def dump(tmp_path: Path) -> Path:
    file = tmp_path / "describe.txt"
    file.write_text(described())
    return file


def run(dump: Path, url: str, *words: str) -> Result:
    command = ["import", str(dump), "-o", str(dump.with_name("mine.yaml")), "--prometheus", url]
    return CliRunner().invoke(app, [*command, "--at", str(AT_S), *words])


def refusal(dump: Path, url: str) -> str:
    result = run(dump, url)
    assert result.exit_code == 2, result.output
    assert len(result.stderr.splitlines()) == 1, result.stderr
    assert list(dump.parent.glob("mine.yaml*")) == []
    return result.stderr.removeprefix("tidegauge: ").strip()


def test_saved_responses_become_producers(dump: Path) -> None:
    answers = Answers()
    with serving(answers) as address:
        result = run(dump, f"http://{address}/prefix/", "--match", 'job="kafka"')
    assert result.exit_code == 0, result.output
    text = dump.with_name("mine.yaml").read_text()
    assert rates_in(yaml.safe_load(text)) == {"orders": (100, 5000)}
    assert f"from describe.txt, http://{address}/prefix." in text
    assert f"rates come from http://{address}/prefix, over 5m up to 2026-11-18" in in_one_line(
        result.output
    )
    assert f"rates of 1 of 5 topics: messages of {MESSAGES}, bytes of {BYTES}" in in_one_line(
        result.output
    )
    paths = {path for path, _, _ in answers.requests}
    assert all(path.startswith("/prefix/api/v1/") for path in paths)
    queries = {query["query"] for _, query, _ in answers.requests if "query" in query}
    wanted = f'sum by (topic) (rate({MESSAGES}{{topic!="",job="kafka"}}[300000ms]))'
    assert wanted in queries


def test_a_user_and_a_password_are_sent_and_never_shown(dump: Path) -> None:
    answers = Answers()
    with serving(answers) as address:
        result = run(dump, f"http://ann:s%40cret@{address}")
    assert result.exit_code == 0, result.output
    expected = f"Basic {base64.b64encode(b'ann:s@cret').decode()}"
    assert {authorization for _, _, authorization in answers.requests} == {expected}
    for text in (result.output, dump.with_name("mine.yaml").read_text()):
        assert "cret" not in text


ANSWERS = {
    (b"<html>login</html>", 200): "does not answer as a Prometheus does at /api/v1/label/__name__",
    (b'{"data": []}', 200): "does not answer as a Prometheus does",
    (b'{"status": "success", "data": {}}', 200): "does not answer as a Prometheus does",
    (b'{"status": "success", "data": []}', 200): "has no messages of topics; none of the names",
    (f'{{"status": "success", "data": ["{MESSAGES}"], "warnings": 7}}'.encode(), 200): (
        "does not answer as a Prometheus does at /api/v1/query: is this its address?"
    ),
    (b"not found", 404): "answers 404 Not Found at /api/v1/label/__name__/values: is this the",
    (b"", 401): "refuses access (401 Unauthorized); a user and a password can stand in the URL",
    (b'{"status": "error", "error": "too many\\nsamples"}', 422): (
        r"Prometheus refuses a query: too many\nsamples"
    ),
    (b"overloaded", 503): "answers 503 Service Unavailable at /api/v1/label/__name__/values",
}


@pytest.mark.parametrize(("content", "status"), ANSWERS)
def test_other_answers_are_one_clear_error(content: bytes, status: int, dump: Path) -> None:
    with serving(Answers(content, status)) as address:
        refused = refusal(dump, f"http://{address}")
    assert refused.startswith(f"http://{address}: {ANSWERS[content, status]}")


def test_an_address_where_nobody_listens_is_one_clear_error(dump: Path) -> None:
    address = f"127.0.0.1:{free_port()}"
    refused = refusal(dump, f"http://ann:secret@{address}")
    assert refused == f"http://{address}: cannot be reached: Connection refused"
    refused = refusal(dump, f"https://{address}/prometheus")
    assert refused == f"https://{address}/prometheus: cannot be reached: Connection refused"


def test_plain_http_at_an_address_of_https_is_one_clear_error(dump: Path) -> None:
    with serving(Answers()) as address:
        refused = refusal(dump, f"https://{address}")
    assert refused.startswith(f"https://{address}: cannot be reached: TLS: ")


@pytest.mark.parametrize(
    "url", ["ftp://a", "http://", "http://a:b:c", "http://a?x=1", "http://a b", "http://[1"]
)
def test_another_url_is_one_clear_error(url: str, dump: Path) -> None:
    assert refusal(dump, url).startswith("--prometheus: must be a URL of a Prometheus")
