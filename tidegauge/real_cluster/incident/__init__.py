"""From an incident to a scenario: the faults behind a cluster's states, with their evidence.

A run folder that was made from logs has the states of partitions, brokers and controllers, and no
faults. Their causes are proposed here, as a scenario that runs; ``runs/side_by_side.py`` compares
the real run with that of the proposed scenario.

=======================  ==========================================================================
``cluster_history.py``   a run's states by their subjects: the only place that reads rows
``sightings.py``         lines of logs that name a lost connection, and each process's own lines
``topology.py``          brokers, controllers and settings, and how long a failure stays unnoticed
``absences.py``          brokers that were gone: killed, stopped cleanly or hung
``absence_pairs.py``     ... in runs side by side
``controller_loss.py``   active controllers that were lost
``lagging.py``           followers that leaders took out of ISRs, and the workload that this shows
``operator_steps.py``    topics that were made or deleted, moves, preferred elections
``voter_changes.py``     controllers that became voters, or were none any more, and their lost disks
``truncated_start.py``   what logs leave open that begin in the middle
``proposed_faults.py``   the faults for what was found, each with its evidence
``proposal.py``          all of it as a scenario in YAML, with a notice of the evidence
=======================  ==========================================================================

A new kind of fault: a module that finds it in a ``ClusterHistory`` and returns ``ProposedFault``,
and its place in ``proposal.py``.
"""
