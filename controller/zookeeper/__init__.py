"""ZooKeeper's server: znodes with versions and watches, sessions, settings of topics, throttles.

``zookeeper.py`` handles each request, ``former_states.py`` lays out a cluster that was there before
the run. No controller's rule is known here.
"""
