"""A run at one moment of its past: its state by the names of fields, and its events one by one.

===================  =========================================================================
file                 subject
===================  =========================================================================
``moment.py``        a moment of a run: it moves forwards and backwards; the state of subjects
``subjects.py``      subjects in words (``broker 2``), and the records of each
``control_plane.py`` ... those of ZooKeeper, of controllers, of a quorum
``handled_event.py`` an event in words: its fields, its cause, its rows, the fields that it changes
``field_values.py``  the value of a field and its text: an id or a name in place of a number
``meanings.py``      the meaning of a field: the comment above it
===================  =========================================================================

The engine repeats the run (``engine/rewinding.py``). A field that a record gains is shown without
a word here, as a number with the unit of its suffix. If it is the number of something that has a
name, it needs a line in ``field_values.py``.
"""
