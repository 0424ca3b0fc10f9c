"""Prometheus: a simulated cluster under the names that Kafka's operators know.

The way of a value: a field of a record of gauges is declared with its metric (``families``), a rule
reads it off a group's tables (``snapshots``), a spelling names it (``spellings``), all together
become samples (``samples``), and samples pages (``endpoint``).

==============  ==================================================================================
room            files
==============  ==================================================================================
``families``    ``all_families.py`` is the one table of metrics, with those of the cluster and of
                the simulation; ``brokers.py``, ``controllers.py``, ``requests.py``: the others;
                ``family.py`` defines an entry, and Kafka's name of a value
``spellings``   ``all_spellings.py``: the names that exporters give to MBeans; ``spelling.py`` reads
                such a table
``snapshots``   ``gauge_rules.py``, ``quorum_gauges.py``, ``request_gauges.py``: how gauges are
                read; ``snapshot.py``: all of them at one moment, as columns
``samples``     ``exposition.py``: samples as arrays, and those of a run in virtual time;
                ``node_tables.py``, ``exporter_tables.py``: the rows that entries are read from;
                ``layout.py``, ``targets.py``: their names, and how many partitions are shown;
                ``successive_snapshots.py``: values of the simulation and of successive snapshots
``endpoint``    ``pages.py``: pages; ``server.py``: HTTP, while a run lasts;
                ``openmetrics_file.py``: the text of both formats, and a file
==============  ==================================================================================

**To add a spelling**: a table in ``spellings/all_spellings.py``.

**To add a metric**: a field with its metric in the record of ``families`` that its object has, and
a line in the rule of ``snapshots`` that fills the record. A value that is computed from fields that
are there is an entry in ``families`` alone. Names follow. Those of ``raft-metrics`` and
``raft-channel-metrics`` belong into ``families/controllers.py``, in the scope of a quorum's nodes:
the spellings know them.

This room imports from the rooms below it, and is the only one that knows ``prometheus_client``.
"""
