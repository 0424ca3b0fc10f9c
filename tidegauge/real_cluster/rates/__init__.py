"""Rates of a real cluster from its monitoring: a Prometheus, or files of samples.

=========================  ==============================================================
``rate_source.py``         the contract of a source: series, matchers, aggregations
``prometheus_api.py``      a source that queries a Prometheus
``sample_files.py``        scrapes that are files, in several formats
``sampled_source.py``      a source of the series that files have
``sought_metrics.py``      the metrics that are of use, and the spelling of their names
``measured_topics.py``     messages and bytes of topics, as producers
``measured_groups.py``     committed offsets and lag, as consumers
``measured_clients.py``    all of it together, and idle threads
=========================  ==============================================================

Names of series are those of ``metrics/spellings``: a spelling that is added there is read here.
``describe`` knows this room by the contract ``describe/topic_rates.py`` alone.
"""
