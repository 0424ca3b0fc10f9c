"""Prometheus: a simulated cluster under the names that Kafka's operators know.

==========================  ========================================================================
``gauges.py``               what a broker, a replica, a partition shows: one record of each
``gauge_rules.py``          how they are read off a group's tables
``snapshot.py``             all of them at one moment, as columns
``health.py``               what a snapshot does not say: the simulation itself, its speed
``families.py``             the one table of metrics, in parts: ``broker_``, ``replica_``,
                            ``exporter_`` and ``own_families.py``; ``family.py`` says what an entry
                            is
``tables.py``               the rows and columns that entries are read from, in parts:
                            ``broker_``, ``exporter_`` and ``own_tables.py`` over ``table.py``
``layout.py``               who these rows are: targets and label texts, made once for a run
``levels.py``               how much is shown of single partitions
``targets.py``              what is scraped, and the labels that the discovery gives it
``labels.py``               labels as a page has them
``exposition.py``           from a snapshot to samples, as arrays
``history.py``              what only several snapshots show: speed, and by ``offset_times.py`` how
                            long records have waited to be read
``formats.py``              Prometheus's text and OpenMetrics, and which of them a client wants
``collector.py``            samples for prometheus_client, which writes small pages
``text_writer.py``          large pages, written directly; ``page_lines.py`` keeps what those of
                            brokers say again and again
``scraping.py``             what a Prometheus would have of each snapshot of a run in virtual time
``openmetrics_file.py``     the series of a whole run as one file
``pages.py``                what the endpoint has to say of the last snapshot
``discovery.py``            where the targets are, as Prometheus asks for it
``front_page.py``           the same for people
``server.py``               HTTP: requests, and what becomes of those that ask wrongly
``endpoint.py``             all of that for as long as a run lasts
``rehearsal``               alert rules, tried on what was scraped of incidents
==========================  ========================================================================

May be imported from: ``tidegauge``. Imports from all rooms below it, and is the only one that knows
``prometheus_client``.

A metric more is one entry in ``families.py``. If nothing holds its value yet, a field of a record
in ``gauges.py`` comes first, and a rule in ``gauge_rules.py`` that fills it in.
"""
