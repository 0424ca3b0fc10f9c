"""KRaft: the active controller, the metadata log that it writes, and its readers.

``active_controller.py`` has the table of contents in Kafka's words. A decision is taken on the
state in memory (``state.py``), in its turn (``event_queue.py``), and appends records
(``metadata_log.py``). These are committed later: then they are rows of the trace
(``committed_rows.py``), and brokers fetch them (``observers.py``).

The decisions about one partition are pure rules in the room ``kraft_partitions``.

**To add a cause of a change**, write a function in ``kraft_partitions/partition_target.py`` that
sets the target of the cause; nothing but ``partition_change`` changes a partition. **To add an
event of the queue**, write its class in ``simulation/messages/quorum_requests.py`` or
``simulation/messages/controller_timers.py``, its type in ``simulation/trace_rows/codes.py``, and
its handler with ``@WRITES.handles`` in the file of its subject; ``active_controller.py`` names all
three. **To add a sort of record**, give it a number in ``state.py`` and its rows in
``committed_rows.py``.

This room imports from ``simulation`` and the rooms below it. It does not know the controller of
ZooKeeper mode (``events``, ``partitions``, ``state``, ``zookeeper``), nor brokers: these are met
through messages.
"""
