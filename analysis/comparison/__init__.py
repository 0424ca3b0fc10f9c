"""Runs of two to four variants of a cluster, such as ZooKeeper and KRaft, side by side.

=====================  ============================================================================
``figures.py``         the figures that are compared, and what decides each of them in each mode
``compared.py``        their values over seeds, and which variant is better
``variants.py``        the variants that some runs are of, and their names
=====================  ============================================================================

The report draws them, and ``tidegauge compare`` prints them. Nothing here knows Spark or plotly.
"""
