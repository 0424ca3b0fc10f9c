"""Alert rules, tested on incidents: Prometheus's own engine evaluates them.

The scraped series of a run become the input of promtool's unit tests for rules. There the rules of
a file are evaluated as by Prometheus itself, so that ``for`` and ``keep_firing_for`` are its own,
in virtual time.

==========================  ========================================================================
``rule_files.py``           the tested rules, as written in their files
``alerts.py``               the alerts of all rule files, one for each name
``expressions.py``          metrics that an expression needs, and those that are not served
``recording.py``            scraped samples as series, in the form of promtool's tests
``promtool.py``             evaluation of rules over series by promtool; when each alert fired
``verdicts.py``             comparison with the expectations of an incident
==========================  ========================================================================

``incidents.py`` runs each incident in virtual time, scrapes it and collects the verdicts.
"""
