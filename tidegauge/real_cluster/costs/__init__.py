"""Calibration of the cost model with a real cluster's own logs and metrics.

==========================  ==============================================================
``cluster_logs.py``         the lines of a cluster that estimators ask for, by node
``estimator.py``            an estimator: which lines tell a parameter, and how
``broker_lives.py``         estimators of starts and stops of brokers
``state_changes.py``        ... of LeaderAndIsr requests and publications of metadata
``controller_work.py``      ... of the controller, ZooKeeper and commits
``coordinator_loads.py``    ... of coordinators that move
``estimators.py``           the table of all estimators, and what nothing tells
``measured_series.py``      the metrics that tell parameters, in any spelling
``measured_times.py``       parameters from metrics: requests, disks
``calibration.py``          all parameters with their quantiles, or why they have none
``cost_text.py``            parameters as YAML: a file of costs, a copy of a scenario
``calibration_tables.py``   the tables that the command prints
``recorded_times.py``       a recorded cluster: its schedule and the times of what happened
``played_times.py``         the times of a run of that schedule
``moments.py``              both in one form, and the figures of it
``side_by_side.py``         a schedule with default and calibrated costs, beside reality
==========================  ==============================================================

**To add an estimator**: a function of ``ClusterLogs`` that yields samples, in the file of its
subject, and an ``Estimator`` in the table at that file's end: the parameter, the mode, the source
in words for people, the literals of its lines, and the bias. Say which sum a difference of two
lines holds. A parameter that cannot be told apart stays a default, with its reason in ``UNTOLD``.
"""
