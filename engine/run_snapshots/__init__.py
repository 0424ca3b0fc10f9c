"""Snapshots of a run: its whole state at one virtual time, from which it can continue.

All state of a run lies in plain tables: those of each group of processes, and those of checks and
figures. At a time that all groups have reached, with no message on its way between two of them, a
copy of these tables is the state of the run.

``packed_tables.py``    tables as compressed bytes, and back
``snapshot_file.py``    the file of a snapshot: ``RUN/snapshots/000060.000000s.snapshot``
``merged_tables.py``    tables of a run that continues with another scenario

``engine/group_snapshots.py`` saves and restores a group, ``engine/snapshot_writer.py`` saves a run
while it goes on, ``engine/resuming.py`` continues it, and ``engine/branching.py`` continues it with
other faults or settings. A table that a group gains is saved without a word here. State that is in
no table has to be saved by its owner: the ``saved`` of a class is what its ``restore`` takes.
"""
