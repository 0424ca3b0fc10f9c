"""The report about runs, in one HTML file that loads no other resource.

=========================  =======================================================================
``report.py``              writes it: for one run, or for many and the worst of them
``all_sections.py``        its sections, top to bottom
``one_run.py``             the run of the report
=========================  =======================================================================

The sections: ``headline.py``, ``clients.py``, ``timeline.py`` with ``panels.py`` (its rows) and
``series.py`` (what changes over time), ``replay.py``, ``partition_story.py``, ``answers.py`` (all
questions) with the pictures ``failovers.py`` and ``unavailability.py``, ``notifications.py``,
``fidelity.py``, ``again.py``; of many runs ``many_runs.py`` with ``sweep_curves.py``.

Their elements: ``section.py`` (words, tables, charts as HTML), ``charts.py`` (how charts look),
``quantities.py`` (numbers with units), ``page.py`` with ``page.css`` and ``page.js``.

**To add a section**, write its function in a module of its own, and name it in
``all_sections.py``. A question needs nothing: the report answers it; if it is seen better in a
picture, that goes into ``answers.PICTURES``. All numbers are aggregated in SQL, and few when they
come here.
"""
