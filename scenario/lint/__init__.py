"""Faults of a cluster that show before anything runs: ``tidegauge lint``.

==========================  ================================================================
subject                     file
==========================  ================================================================
a finding                   ``finding.py``
the cluster, as checks ask  ``linted_cluster.py``, with the faults that show a finding; a check
replicas, ISR, elections    ``replicas.py``
racks, leaders, controllers ``places.py``
clients, message sizes      ``clients.py``
settings without effect     ``settings.py``
all checks, all findings    ``lint.py``
==========================  ================================================================

**To add a check**: one function in the file of its subject, with ``@check`` above it. Its name is
that of the check; its docstring names the fault in the first paragraph and cites the source in the
last, and ``docs/lint.md`` is made from it. It returns a
:class:`~tidegauge.scenario.lint.finding.Finding`, or None if the cluster does not have the fault.
``tests/scenario/test_lint.py`` has a cluster with every fault, and fails for a check whose fault
it lacks, or has no change that mends it. A file that is new is a line in ``lint.py``.
"""
