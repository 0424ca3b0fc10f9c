"""Calibration of the cost model with a real cluster's own logs and metrics.

=======================  =====================================================================
``estimator.py``         an estimator, and the lines of a cluster that estimators ask for
``broker_starts.py``     estimators of starts and stops of brokers
``state_changes.py``     ... of LeaderAndIsr, publications of metadata, coordinators
``controller_work.py``   ... of the controller, ZooKeeper and commits
``measured_times.py``    parameters from metrics: requests, disks
``calibration.py``       the table of estimators; all parameters, or why they have none
``calibration_text.py``  parameters as YAML, and the tables that the command prints
``moments.py``           moments of a cluster, real or simulated, and times between them
``recorded_times.py``    a recorded cluster, beside its schedule with default and calibrated costs
=======================  =====================================================================

**To add an estimator**: a function of ``ClusterLogs`` that yields samples, in the file of its
subject, and an ``Estimator`` in the table at that file's end: the parameter, the mode, the source
in words for people, the literals of its lines, and the bias. Name the sum that a difference of two
lines holds. A parameter that cannot be separated stays a default, with its reason in ``UNTOLD``.
"""
