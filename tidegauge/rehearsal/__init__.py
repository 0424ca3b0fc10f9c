"""Alert rules, tested on incidents: Prometheus's own engine evaluates them.

The scraped series of a run become the input of promtool's unit tests for rules. There the rules of
a file are evaluated as by Prometheus itself, so that ``for`` and ``keep_firing_for`` are its own,
in virtual time.

==========================  ========================================================================
``alerts.py``               the rules of files, their alerts, and the metrics that they need
``metric_names.py``         the exporter that rules are written for, and names that it never makes
``dashboards.py``           the panels of Grafana's dashboards, and the metrics that they need
``promtool.py``             evaluation of rules over series by promtool; when each alert fired
``verdicts.py``             comparison with the expectations of an incident
``incidents.py``            each incident run in virtual time, scraped and judged
==========================  ========================================================================
"""
