"""Which metrics an expression of a rule needs, and which of them nobody serves."""

from __future__ import annotations

import pytest

from tidegauge.rehearsal.alerts import needs_of

SERVED = {"up", "shrinks_total", "lag"}


@pytest.mark.parametrize(
    ("expression", "served", "missing"),
    [
        ("up == 0", {"up"}, set()),
        ("absent(container_last_seen{pod=~'.+'})", set(), {"container_last_seen"}),
        # observ-lib reads several styles of names in one rule: one of them is enough.
        ("rate(shrinks_total[5m]) or rate(shrinkspersec_count[5m])", {"shrinks_total"}, set()),
        ("(jvm_used or jvm_used_bytes) / up", {"up"}, {"jvm_used", "jvm_used_bytes"}),
        ("up and on (instance) node_load1", {"up"}, {"node_load1"}),
        ("up unless on (instance) maintenance", {"up"}, set()),
        ("up unless maintenance and node_load1", {"up"}, {"node_load1"}),
        ("sum by (topic, jvm) (lag) / on (topic) group_left (jvm) lag", {"lag"}, set()),
        ("sum(lag) by (node_load1) > 5", {"lag"}, set()),
        ('label_replace(lag, "a", "$1", "or (b", ".*") # or nothing', {"lag"}, set()),
        ("delta(lag[5m:1m] offset 5m) > bool 0.5e3", {"lag"}, set()),
        ("topk(3, lag) > Inf and hour() > 8", {"lag"}, set()),
        ('{__name__=~"l.g|up"}', {"lag", "up"}, set()),
        ('{__name__="jvm"}', set(), {"jvm"}),
        ('{"lag", topic="a"}', {"lag"}, set()),
        ('{job="kafka"}', SERVED, set()),
        ("vector(1)", set(), set()),
    ],
)
def test_what_an_expression_needs(expression: str, served: set[str], missing: set[str]) -> None:
    needs = needs_of(expression, SERVED)
    assert (set(needs.served), set(needs.missing)) == (served, missing)
