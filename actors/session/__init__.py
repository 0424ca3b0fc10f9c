"""The ZooKeeper session of a broker: opened, kept alive, replaced; its reads and writes.

Settings of topics (``zookeeper_client.py``) and isr_change_notifications
(``isr_change_propagation.py``) travel over it.
"""
