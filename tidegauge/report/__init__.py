"""The report about runs, in one HTML file that loads no other resource.

=========================  =======================================================================
``report.py``              writes it: five sections about one run, or the comparison of many
``one_run.py``             the run of the report, and how it is asked
``headline.py``            the result in a sentence, for the first screen
``stalled_writes.py``      stalls of producers, and partitions that took no writes
``page.py``                the page around the sections, with ``page.css`` and ``page.js``
``picture.py``             some charts of one run as one SVG, for Python
=========================  =======================================================================

The sections: ``clients.py``, ``failures.py``, ``partition_story.py``, ``faults.py`` and
``fidelity.py``; of many runs ``many_runs.py`` with ``side_by_side.py``. Further charts over time,
and the queries of their series, are those of ``panels.py``; further questions those of
``answers.py``. They are folded behind their answers.

Their elements: ``section.py`` (words, tables, folded parts), ``charts.py`` (charts as SVG),
``quantities.py`` (numbers with units, columns in plain words). Each chart has its figures in a
label for screen readers, and each table a caption; where a table has no room, its rows are cards.

**The replay** is a recorded run to watch in a browser, at any moment of its time.
``recording.py`` has the rows that a recording is made of, as Arrow, and packs them in one text with
columns in few bytes; ``partition_changes.py`` the changes of partitions, and the distinct states
that they lead to; ``replay.py`` puts it and its player into a page. The player is ``replay.html``,
``replay.css``, and four scripts that become one module: ``recording.js`` (reads a recording, and
goes to a moment), ``board.js`` (racks, brokers, replicas), ``story.js`` (a partition in words) and
``replay.js`` (time, faults, figures). A change is some five bytes in the file and twenty in the
browser. A moment is found from the nearest of the current one and the keyframes, which the browser
makes when it opens the file. A frame draws only the cells that changed.

**To add a question**, name it in a section's ``QUESTIONS``, and write its answer in one line in
``answers.ANSWERS``, with a picture if it is seen better in one. A further chart is a ``Panel`` of a
section. Sections ask result tables in SQL (``run.tables.rows``), and get few rows: the page stays
below 400 kB.
"""
