"""What-if questions: a few words, which become a fault of a cluster that is healthy before.

====================  ============================================================================
``question.py``       a question, its parameters, and how words are read
``questions.py``      the table of all questions
``voter_plans.py``    plans that change the voters of a quorum, and how they turn out
``asked_scenario.py`` the scenario of a cluster with the fault of a question in place of its own
====================  ============================================================================

``tidegauge ask`` runs that scenario with many seeds. **To add a question**: an entry of the table
``QUESTIONS``, with a function that makes its faults or steps, or the plans that are compared. A
parameter that is new is a field of ``Given`` and a line of ``PARAMETERS``. Then the example goes
into the help of the command, and the manual is written again.
"""
