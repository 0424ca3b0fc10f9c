"""The names under which exporters serve Kafka's MBeans.

``spelling.py`` is how a table is read; ``all_spellings.py`` has the tables, and reads one from an
operator's own file of rules.

**To add a spelling**: a table in ``all_spellings.py``, and nothing else. ``tidegauge import
--prometheus`` recognises it.
"""
