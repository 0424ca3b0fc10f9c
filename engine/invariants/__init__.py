"""Invariants: facts about a group's state between any two events.

==================  ========================================================================
file                subject
==================  ========================================================================
``checked.py``      how an invariant is declared, the tables that they read, and the one rule that
..                  looks at all of them
``kernel.py``       lists of events, the heap, links, processes, faults; brokers' machines
``pools.py``        slots of events, entries and watches: each is in one place
``logs.py``         logs, roles and ISRs of replicas
``brokers.py``      processes, request handlers, purgatories, fetchers, fetch sessions, timers
``zookeeper.py``    znodes, watches, sessions
``controllers.py``  controllers, their contexts, queues and channels
``quorum.py``       the active controller of a KRaft quorum, and its voters: states, logs, timers
``voter_sets.py``   voters of a quorum that may change: KIP-853's specification
``clients.py``      producers, consumers, connections
``validator.py``    validates a group, and says in words what is wrong
==================  ========================================================================

**To add one**: a function of ``Checked`` in the file of its subject, decorated with the table of
the record that it returns the place of, and a state that violates it in
``tests/engine/test_invariants.py``. Its docstring is the sentence that a failure shows. They are
checked in the order of definition: a function that walks a list stands behind the invariant of that
list.

No rule of a run imports this room: it is compiled only where ``TIDEGAUGE_CHECKED`` is set.
"""
