"""The report about runs, in one HTML file that loads no other resource.

=========================  =======================================================================
``report.py``              writes it: for one run, or for many and the worst of them
``all_sections.py``        its sections, top to bottom: as an operator asks
``one_run.py``             the run of the report, and how it is asked
=========================  =======================================================================

The sections: ``headline.py``, ``clients.py``, ``timeline.py``, ``replay.py``,
``partition_story.py``, ``answers.py`` (all questions) with the pictures ``failovers.py`` and
``unavailability.py``, ``notifications.py``, ``fidelity.py``, ``again.py``; of many runs
``many_runs.py`` with ``side_by_side.py`` and ``sweep_curves.py``. Charts over time are those of
``panels.py``, of the series that ``series.py`` asks for.

Their elements: ``section.py`` (words, tables, charts as HTML), ``charts.py`` (how charts look),
``quantities.py`` (numbers with units, columns in plain words), ``page.py`` with ``page.css`` and
``page.js``. Titles and keys of charts are HTML: they wrap on narrow pages, and are read aloud.

**To add a section**, write ``section(run)`` in a module of its own, and name it in
``all_sections.py``. It asks result tables in SQL (``run.tables.rows``), and gets few rows. A
question needs nothing: the report answers it; if it is seen better in a picture, that goes into
``answers.PICTURES``.
"""
