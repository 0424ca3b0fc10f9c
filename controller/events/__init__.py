"""The events of a controller: each type in its own file, in steps between ZooKeeper's responses."""
