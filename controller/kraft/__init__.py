"""KRaft: the active controller, the metadata log that it writes, and who reads it.

Decisions are taken on the state in memory (``state.py``), in the turn of one queue
(``event_queue.py``, ``active_controller.py`` with the table of contents); each appends records
(``metadata_log.py``), which are committed later: then they are rows of the trace
(``committed_rows.py``) and brokers fetch them (``observers.py``).

**To add an event of the queue**: its class in ``simulation/messages/quorum_requests.py`` or
``quorum_timers.py``, its handler with ``@WRITES.handles`` in the file of its subject, which
``active_controller.py`` names. **To add a sort of record**: its number in ``registrations.py``, its
rows in ``committed_rows.py``.

This room imports from ``simulation`` and the rooms below it; ZooKeeper's rooms beside it are not
known here, nor are brokers: these are met through messages.
"""
