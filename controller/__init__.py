"""ZooKeeper, elections and the controller, and the Ray actor that hosts them."""
