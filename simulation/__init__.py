"""Virtual time: events and processes, links, clients, faults, windows, trace, scenarios.

=============================  ==========================================================
what                           where
=============================  ==========================================================
all state of the kernel        ``kernel.py``: records and tables; ``new_tables.py`` lays
                               them out, ``cluster_plan.py`` numbers what a scenario names
events and their order         ``events.py``; ``kinds.py`` lists the kinds
messages between processes     ``links.py``
groups of processes            ``windows.py``: when each goes on; ``frames.py``: what they tell
                               each other, ``exchange_state.py`` and ``frame_exchange.py``
                               what they keep of it; over sockets (``system_calls.py``,
                               ``frame_links.py``), which ``handshake.py`` brings to stand;
                               how far a group may go: ``lookahead.py``
what all brokers are told      ``metadata_log.py``
what goes wrong, who is alive  ``faults.py``; ``slow_disks.py``, ``timed_stops.py``
rolling restarts               ``rolling_restarts.py``
faults from rates              ``fault_rates.py``, before the run
random draws, the cost model   ``random_streams.py``, ``costs.py``
what must hold, what counts    ``checks``: one file for each; ``figures.py``, and what each
                               figure means: ``summary_figures.py``
rows of the trace, their hash  ``row_kinds.py`` (the schema), ``rows.py`` (written and
                               folded), ``trace_hash.py``, ``trace_file.py``; what else a
                               run leaves: ``run_files.py``
producers and consumers        ``producer.py`` (``latency_counts.py``: how long batches took),
                               ``consumer.py``, ``client_metadata.py``
the operator, its steps        ``steps.py``, ``step_codes.py``, what they ask:
                               ``step_requests.py``; ``new_steps.py`` reads them from a scenario
who is who, znodes             ``topology.py``
scenario files                 ``scenario.py`` reads one; a part of it in each
                               ``scenario_*.py``; how large one may be:
                               ``scenario_limits.py``; names of settings that are not
                               read: ``kafka_setting_names.py``; as records: ``new_*.py``
=============================  ==========================================================

**To add** a kind of event: a line in ``kinds.py`` and a branch where its process handles it. A kind
of row: a line in ``row_kinds.py``, and its words in ``tidegauge/history/story.py``. A fault: its
model in ``scenario_faults.py``, its record in ``new_faults.py``, what it does in ``faults.py``, and
in the process that it hits what follows (``actors/broker.py``). A step: its model in
``scenario_steps.py``, its record in ``new_steps.py``, what it does in ``steps.py``. A cost: its
field in ``scenario_costs.py`` and its place in ``costs.py``. A figure: its name, unit and meaning
in ``summary_figures.py``, how it is counted in ``figures.py``, and its value in
``tidegauge/summary.py``; ``tests/plain_reader.py`` counts it by itself.

What runs inside the loop is compiled: ``@inner_rule`` functions over tables, which only other
rules call. This room imports from ``replication`` only.
"""
