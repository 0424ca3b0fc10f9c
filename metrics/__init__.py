"""Prometheus: a simulated cluster under the names that Kafka's operators know.

The way of a value: a rule reads it off a group's tables into a record (``snapshots``), an entry of
the table of metrics says what it measures (``families``), a spelling names it (``spellings``), all
together become samples (``samples``), and samples pages (``endpoint``).

==============  ==================================================================================
room            files
==============  ==================================================================================
``families``    ``all_families.py`` is the one table of metrics, in parts: ``broker_``,
                ``replica_``, ``controller_``, ``exporter_`` and ``own_families.py``; ``family.py``
                defines an entry, and Kafka's name of a value
``spellings``   ``all_spellings.py``: the names that exporters give to MBeans; ``spelling.py`` reads
                such a table, ``jmx_rules.py`` makes one of an operator's own rules
``snapshots``   ``gauges.py`` (records), ``gauge_rules.py`` (how they are read), ``snapshot.py``
                (all of them at one moment, as columns)
``samples``     ``exposition.py``: samples as arrays, and those of a run in virtual time;
                ``table.py`` and ``*_tables.py``: the rows that entries are read from;
                ``layout.py``, ``labels.py``, ``targets.py``: their names, and how many partitions
                are shown; ``health.py``, ``successive_snapshots.py``, ``offset_times.py``,
                ``record_times.py``: values of the simulation and of successive snapshots
``endpoint``    ``pages.py``: pages; ``server.py``: HTTP, while a run lasts;
                ``openmetrics_file.py``: the text of both formats, and a file
==============  ==================================================================================

**To add a spelling**: a table in ``spellings/all_spellings.py``.

**To add a metric**: an entry in ``families``; its names follow. Those of ``raft-metrics`` and
``raft-channel-metrics`` belong into ``controller_families.py``, in the scope of a quorum's
controllers: the spellings know them. If no record holds its value yet, a field in
``gauges.py`` comes first, and a rule in ``gauge_rules.py`` that fills it in.

This room imports from the rooms below it, and is the only one that knows ``prometheus_client``.
"""
