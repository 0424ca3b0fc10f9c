"""Files for monitoring live runs and analysing recorded ones; README.md explains their use.

``tidegauge dashboards DIR`` writes the dashboard, the alert rules and Prometheus's configuration to
a folder, for installations from the package. The only code here is ``spark/analyze.py``, which
``spark-submit`` starts.
"""
