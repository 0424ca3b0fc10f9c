"""Clients: producers, consumers and their groups, and the operator with steps and rolling restarts.

=============================  ==========================================================
subject                        file
=============================  ==========================================================
each event of a client         ``client.py``; handlers enter themselves in ``handlers.py``
records of clients             ``client_state.py``
metadata of a client           ``client_metadata.py``, with the connections to brokers
producers                      ``producer.py``; ``accumulator.py``, ``sent_batches.py``,
                               ``sequences.py``
what applications offer,       ``stalls.py``: all of it adds up; ``latency_counts.py``
outages as clients see them
consumers and their groups     ``consumer.py``, ``consumer_group.py``
the operator's steps           ``steps.py``: conditions and order; ``step_requests.py``;
                               ``admin_requests.py`` commands the control plane,
                               ``step_requests.py`` asks brokers
rolling restarts               ``rolling_restarts.py``
questions and commands to the  ``control_plane_requests.py``
control plane
=============================  ==========================================================

**To add a step**: a class of the scenario (``scenario/model/step.py`` says which facts it gives),
and its rule with its code in ``steps.py``, ``admin_requests.py`` or ``step_requests.py``.

Brokers and the control plane are met through messages. This room imports from ``simulation`` and
the rooms below it.
"""
