"""Logs of a real cluster as a run."""
