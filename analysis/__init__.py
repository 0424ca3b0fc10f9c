"""Offline analysis of recorded runs."""
