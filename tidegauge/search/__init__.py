"""The search for schedules: those that break a promise, made small, and those behind a picture.

``shrinking.py`` makes a failing scenario smaller while it shows the same failure
(``failures.py``). ``reduced_scenarios.py`` has the smaller scenarios, ``trials.py`` runs them
without a trace, and ``differences.py`` counts how far a scenario is from the default order.

``campaign.py`` tries random schedules on the clusters of ``profiles.py``, and
``ablation_matrix.py`` does so without each rule of the protocol; both run in batches of compiled
code (``engine/fuzzing``).

``explanations.py`` searches the schedules that produce a picture of partitions' states
(``pictures.py``): its units are in ``explaining.py``, the faults to choose from in ``suspects.py``,
the cluster in ``pictured_cluster.py``, and ``picture_distances.py`` compares a run with a picture.

To add a way to shrink: a function of ``reduced_scenarios.py`` that makes the smaller scenario, and
a pass of ``shrinking.py`` that tries it. To add a fault, a step or a pin that is drawn: a line of
``profiles.py``. To add a fault that can explain a picture: a line of ``suspects.py`` with its rate.
"""
