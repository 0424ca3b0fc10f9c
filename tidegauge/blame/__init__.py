"""What each fault of a run really cost: the differences to the same run without it.

==================  ==============================================================================
``fault_runs.py``   the runs without some of the faults, in the warm pool
``fault_costs.py``  a figure of these runs split among the faults, and the content of ``blame.json``
==================  ==============================================================================

``tidegauge blame`` prints it (``views/blame_view.py``), and the report shows the stored result.
The account of causes (``show faults``) follows one run instead: it says which faults had a part in
what.
"""
