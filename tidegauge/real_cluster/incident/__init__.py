"""From an incident to a scenario: what a cluster's states tell of the faults behind them.

A run folder that was made from logs has the states of partitions, brokers and controllers, and no
faults. Their causes are proposed here, as a scenario that runs; and two runs, such as the real and
the proposed one, are compared.

=======================  ==========================================================================
``cluster_history.py``   a run's states by their subjects: the only place that reads rows
``sightings.py``         what processes tell of others: the lines that name a lost connection
``timings.py``           the settings that say how long a failure stays unnoticed
``absences.py``          brokers that were gone: killed, stopped cleanly or hung
``controller_loss.py``   active controllers that were lost
``lagging.py``           followers that leaders took out of ISRs while they were registered
``operator_steps.py``    topics that were made or deleted, moves, preferred elections
``untold_begin.py``      what logs leave open that begin in the middle
``assumed_workload.py``  producers, where states show that topics were written
``topology.py``          brokers, controllers, topics and settings of the cluster
``proposed_faults.py``   the faults for what was found, each with its evidence
``proposal.py``          all of it as a scenario, with a notice of the evidence for each part
``proposal_text.py``     the scenario as YAML, and the file of the command
``run_pair.py``          two runs, aligned in time
``pair_figures.py``      their figures side by side, and those of each incident
``pair_view.py``         all of it on the terminal, and as JSON
=======================  ==========================================================================

A new kind of fault: a module that finds it in a ``ClusterHistory`` and returns ``ProposedFault``,
and its place in ``proposal.py``.
"""
