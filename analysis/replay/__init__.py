"""The replay: a recorded run to watch in a browser, at any moment of its time.

=========================  =======================================================================
``recorded_run.py``        what a recording is made of: rows of result tables, as Arrow
``partition_changes.py``   the changes of partitions, and the distinct states that they lead to
``recording.py``           all of it in one text: names, faults, brokers, changes
``varints.py``             columns of numbers in few bytes
``player.py``              the recording and its player, as a piece of a page
=========================  =======================================================================

The player is ``replay.html`` (its elements), ``replay.css``, and four scripts that become one
module: ``recording.js`` (reads a recording, and goes to a moment), ``board.js`` (racks, brokers,
replicas), ``story.js`` (a partition in words) and ``replay.js`` (time, faults, figures).

**Cost.** A change is some five bytes in the file and twenty in the browser. A moment is found from
the nearest of the current one and the keyframes, which the browser makes when it opens the file. A
frame draws only the cells that changed.

This room knows no engine and no report: it takes Arrow tables and a manifest.
"""
