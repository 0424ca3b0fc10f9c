"""Alert rules, tried on incidents before they are needed: Prometheus's own engine is the judge.

What a run showed to whoever scraped it becomes the input of promtool's unit tests for rules. There
the rules of a file are evaluated as by Prometheus itself, so that ``for`` and ``keep_firing_for``
are its own, in virtual time.

==========================  ========================================================================
``rule_files.py``           the rules that are tried, as their files have them
``expressions.py``          which metrics an expression needs, and which of them nobody serves
``recording.py``            what was scraped, as series; as promtool's tests write them
``promtool.py``             having promtool evaluate rules over series; when each alert fired
``verdicts.py``             that, beside what an incident expects
==========================  ========================================================================

``incidents.py`` runs each incident in virtual time, scrapes it and collects the verdicts.
"""
