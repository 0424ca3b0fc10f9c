"""The parts of a scenario, each a pydantic model in its own file; ``scenario.py`` is the whole.

A kind of fault or step is one class that owns all facts of its kind: ``fault.py`` and ``step.py``
name them, and explain how to add a kind. The rest of the scenario reaches them in ``deployment.py``
only.

A field carries its type, its limits, its description and its default. Units are suffixes of the
model's names; in the file a duration is a text such as ``250ms``.
"""
