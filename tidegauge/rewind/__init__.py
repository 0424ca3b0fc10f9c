"""A run at one moment of its past: its state by the names of fields, and its events one by one.

==========================  ====================================================================
file                        subject
==========================  ====================================================================
``moment.py``               a moment of a run, which moves forwards and backwards
``subjects.py``             subjects in words (``broker 2``), and the records of each
``seen_run.py``             the tables of a run, with its names
``brokers_and_replicas.py`` records of brokers and of replicas
``clients_and_links.py``    ... of clients, links, events that wait
``control_plane.py``        ... of controllers, of a quorum; ``zookeeper_records.py``: of ZooKeeper
``event_states.py``         an event in words: its fields, its entries, its cause
``handled_event.py``        ... that was handled: its rows, and the fields that it has changed
``field_values.py``         the value of a field and its text: an id or a name for a number
==========================  ====================================================================

The engine repeats the run (``engine/rewinding.py``). A field that a record gains is shown without
a word here, as a number with the unit of its suffix. If it is the number of something that has a
name, it needs a line in ``field_values.py``.
"""
