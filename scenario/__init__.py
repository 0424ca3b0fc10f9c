"""Scenario files: the subject of a run, in YAML, from the text to numbers.

=============================  ==========================================================
subject                        file
=============================  ==========================================================
a file, or a mapping, read     ``reading.py``; ``shipped.py`` finds one by its name
text, lines, changes, errors   the room ``text``
the parts of a scenario        the room ``model``: a part in each file, ``scenario.py`` the
                               whole, ``limits.py`` the size of fields
parts that must fit together   the room ``coherence``; ``warnings.py``
everything in numbers          ``cluster_plan.py``: index, process, slot of each thing;
                               ``cluster_directory.py``: its names, as the manifest has them
plans in words                 ``timetable.py``, with what is kept of logs
faults of a cluster            the room ``lint``
predictions without a run      ``used_resources.py``; ``warnings.py``: what another seed may
                               decide otherwise
names of a run's figures       ``named_figures.py``, and events that a scenario expects
the JSON schema                ``reading.py``
=============================  ==========================================================

**To add a field**: the model of its part, with a description, and its reader from
``cluster_plan.py``. **To add a fault or a step**: a class in ``model``, and its rule in the kernel;
``model/fault.py`` and ``model/step.py`` say how. **To add a cost**: see ``simulation/__init__.py``.

This room imports from ``traces`` (the names of checks and figures) and from the rooms below it.
"""
