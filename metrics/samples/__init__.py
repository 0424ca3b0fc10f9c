"""Samples: a snapshot and the table of metrics together, as rows with targets and labels."""
