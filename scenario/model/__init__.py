"""The parts of a scenario, each a pydantic model in its own file; ``scenario.py`` is the whole.

A field carries its type, its limits, its description and its default. Units are suffixes of the
model's names; in the file a duration is a text such as ``250ms``.
"""
