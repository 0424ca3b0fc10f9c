"""The report about runs, in one HTML file that loads no other resource.

=========================  =======================================================================
``report.py``              writes it: for one run, or for many and the worst of them
``all_sections.py``        its sections, top to bottom
``part.py``                a section: its queries to Spark, and its text
``one_run.py``             the run of the report
``collected.py``           all queries to Spark, sent at once
=========================  =======================================================================

The sections: ``headline.py``, ``timeline.py`` with ``panels.py`` (its rows) and ``series.py`` (what
changes over time), ``partition_story.py``, ``notifications.py``, ``answers.py`` (all questions)
with the pictures ``failovers.py`` and ``unavailability.py``, ``fidelity.py``, ``again.py``; of many
runs ``many_runs.py`` with ``sweep_curves.py``.

Their elements: ``section.py`` (words, tables, charts as HTML), ``charts.py`` (how charts look),
``quantities.py`` (numbers with units), ``page.py`` with ``page.css`` and ``page.js``.

**To add a section**, write its two functions in a module of its own, and name it in
``all_sections.py``. A question needs nothing: the report answers it; if it is seen better in a
picture, that goes into ``answers.PICTURES``. All numbers are aggregated by Spark, and small when
they come here.
"""
