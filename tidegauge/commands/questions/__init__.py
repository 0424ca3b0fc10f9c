"""``tidegauge ask``: what-if questions about a cluster.

``asking.py`` has questions with one fault, and the begin of all of them; ``asking_plans.py`` those
that compare several plans of an operator.
"""
