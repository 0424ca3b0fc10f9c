"""The report about runs, in one HTML file that loads no other resource.

=========================  =======================================================================
``report.py``              writes it: its sections top to bottom, as an operator asks, for one run
                           or for many and the worst of them
``one_run.py``             the run of the report, and how it is asked
=========================  =======================================================================

The sections: ``headline.py``, ``clients.py``, ``timeline.py``, ``replay.py``,
``partition_story.py``, ``answers.py`` (all questions, some with a picture), ``notifications.py``,
``fidelity.py``; of many runs ``many_runs.py`` with ``side_by_side.py``. Charts over time, and the
queries of their series, are those of ``panels.py``.

Their elements: ``section.py`` (words, tables, charts as HTML), ``charts.py`` (how charts look),
``quantities.py`` (numbers with units, columns in plain words), ``page.py`` with ``page.css`` and
``page.js``. Titles and keys of charts are HTML: they wrap on narrow pages, and are read aloud.

**The replay** is a recorded run to watch in a browser, at any moment of its time.
``recording.py`` has the rows that a recording is made of, as Arrow, and packs them in one text with
columns in few bytes; ``partition_changes.py`` the changes of partitions, and the distinct states
that they lead to; ``replay.py`` puts it and its player into a page. The player is ``replay.html``,
``replay.css``, and four scripts that become one module: ``recording.js`` (reads a recording, and
goes to a moment), ``board.js`` (racks, brokers, replicas), ``story.js`` (a partition in words) and
``replay.js`` (time, faults, figures). A change is some five bytes in the file and twenty in the
browser. A moment is found from the nearest of the current one and the keyframes, which the browser
makes when it opens the file. A frame draws only the cells that changed.

**To add a section**, write ``section(run)`` in a module of its own, and name it in
``report.py``. It asks result tables in SQL (``run.tables.rows``), and gets few rows. A
question needs nothing: the report answers it; if it is seen better in a picture, that goes into
``answers.PICTURES``.
"""
