"""Layouts of clusters of which there are only numbers: generated scenarios.

=========================  ==============================================================
``skew.py``                sizes and rates by Zipf's law, with exact sums
``layout.py``              the numbers of a cluster
``generated_layout.py``    the scenario made of them
``layout_text.py``         the YAML of the scenario, with what is assumed
=========================  ==============================================================

Where the replicas go is not computed here: a scenario with ``placement: drawn`` says that itself
(``scenario/placement``), so the file of 200,000 partitions has a line for each topic.

**To add a number**: a field of ``Layout``, its option in ``commands/generate_scenario.py``, and a
line of the head in ``layout_text.py`` if something is assumed for it.
"""
