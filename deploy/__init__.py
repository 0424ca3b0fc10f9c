"""Files with which a live run is watched and recorded ones are analysed; README.md says how.

``tidegauge dashboards DIR`` writes the dashboard, the alert rules and Prometheus's configuration
to a folder, for those who installed the package. There is no code here but ``spark/analyze.py``,
which ``spark-submit`` starts.
"""
