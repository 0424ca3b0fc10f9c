"""The tables of a broker, its topics and its replicas.

A broker that does not respond has no rows, as its target cannot be scraped.
"""

from __future__ import annotations

import numpy as np

from tidegauge.metrics.samples.layout import Numbers, Texts, texts_of
from tidegauge.metrics.samples.table import Sources, Table, columns_of


def brokers(sources: Sources) -> Table:
    """Brokers, with the age of their request handlers."""
    rows = rows_of_broker(sources, 1)
    records = sources.snapshot.brokers[rows]
    columns = columns_of(records)
    columns["handlers_for_us"] = sources.snapshot.time_us - records["handlers_since_us"]
    targets = np.arange(len(sources.snapshot.brokers))[rows]
    labels = texts_of([""] * len(targets))
    return Table(targets, records["answers"], columns, labels.__getitem__)


def brokers_with_zookeeper(sources: Sources) -> Table:
    """Brokers, as far as they have to do with ZooKeeper."""
    table = brokers(sources)
    return table._replace(there=table.there & (not sources.layout.plan.is_kraft))


def brokers_of_quorum(sources: Sources) -> Table:
    """Brokers, as readers of a quorum's log."""
    table = brokers(sources)
    rows = rows_of_broker(sources, 1)
    applied = sources.context.applied
    unknown_us = np.full(len(table.targets), np.nan)
    applied_us = unknown_us if applied is None else applied.brokers_us[rows]
    columns = {
        **table.columns,
        "applied_ms": applied_us // 1000,
        "applied_lag_ms": (sources.snapshot.time_us - applied_us) // 1000,
    }
    is_reader = sources.snapshot.brokers["applied_offset"][rows] >= 0
    there = table.there & is_reader & sources.layout.plan.is_kraft
    return table._replace(there=there, columns=columns)


def broker_topics(sources: Sources) -> Table:
    """Topics at brokers."""
    layout = sources.layout
    rows = rows_of_broker(sources, len(layout.topics))
    targets = layout.broker_topic_targets[rows]
    records = sources.snapshot.broker_topics[rows]
    there = records["exists"] & sources.answers(targets)
    return Table(targets, there, columns_of(records), layout.broker_topic_labels[rows].__getitem__)


def rows_of_broker(sources: Sources, rows_each: int) -> slice:
    """The rows of the requested brokers, where each broker has that many consecutive rows."""
    if sources.broker is None:
        return slice(None)
    return slice(sources.broker * rows_each, (sources.broker + 1) * rows_each)


def replicas(sources: Sources) -> Table:
    """Replicas at their brokers; they add up to topics at a broker."""
    layout = sources.layout
    rows = slice(None) if sources.broker is None else layout.replicas_of[sources.broker]
    targets = layout.replica_targets[rows]
    records = sources.snapshot.replicas[rows]
    return Table(
        targets,
        records["exists"] & sources.answers(targets),
        columns_of(records),
        layout.replica_labels[rows].__getitem__,
        layout.replica_partitions[rows],
        layout.replica_totals._replace(of=layout.replica_totals.of[rows]),
    )


def fetched_replicas(sources: Sources) -> Table:
    """Replicas that are fetched from another broker, labelled with the fetcher.

    AbstractFetcherManager names a fetcher ``ReplicaFetcherThread-<fetcher>-<id of the leader>``.
    """
    table = replicas(sources)
    fetchers, leaders = table.columns["fetcher"], table.columns["source_broker"]
    ids = sources.layout.broker_ids

    def labels(rows: Numbers) -> Texts:
        pairs, place = np.unique(fetchers[rows] * len(ids) + leaders[rows], return_inverse=True)
        names = texts_of(
            f'clientId="ReplicaFetcherThread-{pair // len(ids)}-{ids[pair % len(ids)]}",'
            for pair in pairs
        )
        texts: Texts = names[place] + table.labels(rows)
        return texts

    there = table.there & (fetchers >= 0) & (leaders >= 0)
    return table._replace(there=there, labels=labels)
