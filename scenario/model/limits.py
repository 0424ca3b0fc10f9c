"""Limits on the size of a scenario, and their reasons.

A run allocates its tables for all parts of its scenario, and some of them for pairs of parts. A
scenario far beyond any cluster is refused here with the limit, before it exhausts the machine's
memory. Limits of single fields are constraints of these fields; ``coherence/size.py`` checks
combinations of fields. A scenario within all limits takes less than 10 GB.
"""

from __future__ import annotations

#: Every two processes have a link, and a broker is two processes.
MOST_BROKERS = 500
#: ... and a client is one.
MOST_CLIENTS = 1_000
#: Of all topics. A partition takes some 25 kB, mostly room for the requests and rows of a
#: controller's failover, which cover all partitions at once. Kafka's largest clusters with
#: ZooKeeper were to have 200,000.
MOST_PARTITIONS = 200_000
#: Of all partitions.
MOST_REPLICAS = 600_000
#: A client that writes to a partition, or a group that reads it, counts as one.
MOST_TARGETS = 2_000_000
#: Committed offsets: every broker has room for all, as any can become their coordinator.
MOST_COMMITTED_OFFSETS = 100_000_000
#: Fetcher threads of all brokers together: each has one, or more, for each other broker.
MOST_FETCHERS = 5_000_000
#: num.io.threads of one broker.
MOST_THREADS = 10_000
#: A fault remembers for every process whether it hits it.
MOST_FAULTS = 1_000
MOST_STEPS = 10_000
#: Of an ensemble.
MOST_SERVERS = 100
#: Of a group of producers: one each microsecond.
MOST_PER_SECOND = 1_000_000
#: ... or of consumers, at least: one in a thousand hours. Nanoseconds between two fit into 64 bits.
LEAST_PER_SECOND = 1 / 3_600_000
#: All that producers send in a run: some ten hours of work for one core.
MOST_BATCHES = 1_000_000_000
#: Batches that producers may have to keep while no leader responds.
MOST_WAITING_BATCHES = 20_000_000
#: Kafka's batches count their bytes in 32 bits (DefaultRecordBatch.LENGTH@2.6.0).
MOST_BATCH_BYTES = 2**31 - 1
#: Of a group of producers in a run; sums of sizes fit into 64 bits.
MOST_BYTES = 2**60
