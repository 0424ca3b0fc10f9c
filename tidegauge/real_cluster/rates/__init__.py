"""Rates of a real cluster from its monitoring: a Prometheus, or files of samples.

=========================  ==============================================================
``rate_source.py``         the contract of a source: aggregations over a window
``prometheus_api.py``      a source that asks a Prometheus
``sample_files.py``        scrapes that are files, and the series in them
``sample_formats.py``      the samples of a file: text, OpenMetrics, tsdb dump, JSON
``sampled_source.py``      a source of the series that files have
``label_matchers.py``      the matchers of ``--match``
``sought_metrics.py``      the metrics that are of use, and the spelling of their names
``one_cluster.py``         whether series are of one cluster
``topic_names.py``         topics of series, as topics of the dump
``measured_topics.py``     messages and bytes of topics, as producers
``producer_groups.py``     groups of producers of many topics
``measured_groups.py``     committed offsets and lag, as consumers
``measured_threads.py``    idle request handlers and network threads
``measured_clients.py``    all of it together
=========================  ==============================================================

Names of series are those of ``metrics/spellings``: a spelling that is added there is read here.
``describe`` knows this room by the contract ``describe/measured_workload.py`` alone.
"""
