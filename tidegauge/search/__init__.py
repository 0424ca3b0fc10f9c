"""The search for schedules that break a promise, and the smallest scenario that shows it.

``shrinking.py`` makes a failing scenario smaller while it shows the same failure
(``failures.py``). ``reduced_scenarios.py`` has the smaller scenarios, ``trials.py`` runs them
without a trace, and ``differences.py`` counts how far a scenario is from the default order.

To add a way to shrink: a function of ``reduced_scenarios.py`` that makes the smaller scenario, and
a pass of ``shrinking.py`` that tries it.
"""
