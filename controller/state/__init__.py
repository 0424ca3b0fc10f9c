"""The state of ZooKeeper and of the controllers, the types of events, requests to ZooKeeper.

``control_plane.py`` has the records; ``assignments.py`` the replicas of partitions as znodes hold
them and controllers know them; ``handlers.py`` the handler of each kind of event.
"""
