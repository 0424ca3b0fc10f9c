"""The engine: a scenario's processes, laid out as tables, cut into groups and run.

=============================  ==========================================================
subject                        file
=============================  ==========================================================
a whole run                    ``simulate.py``; ``contract.py``: what a run asks of an engine,
                               its pace
metrics while it runs          ``live_metrics.py``
the kernel's loop              ``event_loop.py``: brings events to the doors of rooms (``doors.py``)
tables of a scenario           the room ``layout``
a group of processes           ``group.py``; ``group_tables.py``, ``group_states.py``
what groups tell each other    the room ``exchange``
what always holds of a group   the room ``invariants``: validated only where it is asked for
which group hosts a process    ``grouping.py``
snapshots                      ``group_snapshots.py``, ``group_splitting.py`` of groups;
                               ``snapshot_writer.py``, ``resuming.py``, ``branching.py`` of runs;
                               ``recovery.py``: a run goes on after a death
engines                        ``inline_engine.py``, in this interpreter; ``ray_engine.py`` in
                               actors of Ray (``hosted_group.py``, ``ray_cluster.py``)
many runs                      ``pool.py``: a function with many inputs, on warm actors of Ray
                               (``ray_pool.py``), or where there is no Ray in processes of this
                               machine (``process_pool.py``)
rows of all groups, in order   ``row_stream.py``, for checks and figures
the liveness phase             ``liveness.py``
results                        ``simulate.py``, ``summary.py``, ``reassignment_spans.py``,
                               ``row_stream.py``
time per kind of event         ``loop_sampler.py``
a prediction of cost           ``prediction.py``
=============================  ==========================================================

``ray`` is imported by ``ray_engine.py``, ``ray_cluster.py`` and ``ray_pool.py`` only, and by the
shells in ``actors`` and ``controller``.
"""
