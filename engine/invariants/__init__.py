"""Invariants: what holds of a group's state between any two events.

==================  ========================================================================
file                subject
==================  ========================================================================
``registry.py``     how an invariant is declared, and the rule that looks at all of them
``checked.py``      the tables that they read, and what they share
``kernel.py``       lists of events, the heap, links, processes, faults
``pools.py``        slots of events, entries and watches: each is in one place
``logs.py``         logs, roles and ISRs of replicas
``brokers.py``      processes, request handlers, purgatories, fetchers, fetch sessions, timers
``machines.py``     disks and page caches of brokers' machines
``zookeeper.py``    znodes, watches, sessions
``controllers.py``  controllers, their contexts, queues and channels
``quorum.py``       the active controller of a KRaft quorum: states, records, responses, timers
``voters.py``       voters of that quorum: leaders, logs, timers
``clients.py``      producers, consumers, connections
``validator.py``    validates a group, and says in words what is wrong
==================  ========================================================================

**To add one**: a function of ``Checked`` in the file of its subject, decorated with the table of
the record that it returns the place of, and a state that violates it in
``tests/engine/test_invariants.py``. Its docstring is the sentence that a failure shows. They are
looked at in the order of definition: what walks a list stands behind the invariant of that list.

No rule of a run imports this room: it is compiled only where ``TIDEGAUGE_CHECKED`` is set.
"""
