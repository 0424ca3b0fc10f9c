"""Snapshots: the values of brokers, replicas and partitions at one moment, read off the tables."""
