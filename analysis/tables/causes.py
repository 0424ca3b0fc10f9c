"""The origins of rows: their triggers, and the faults that they lead to."""

from __future__ import annotations

from tidegauge.analysis.tables.result_table import View

#: Rows of the kinds in ``analysis/causes.py``, by their handles: ``trigger_process``,
#: ``trigger_us``, ``trigger_kind`` of the nearest row of another process; ``fault``, ``fault_name``
#: and ``fault_us`` of the fault that it all leads to. Null where there is none. ``faults``: all faults
#: that have a part in it.
CAUSES = View(
    "causes",
    """
    with fault_rows as (
        select run, process, sequence, fault from fault_began
        union all
        select run, process, sequence, fault from fault_ended
    )
    select c.run, c.process, c.sequence, c.trigger_process, c.trigger_us, c.trigger_kind,
        c.fault_us, c.faults, r.fault, f.fault_name
    from found_causes as c
    left join fault_rows as r on r.run = c.run and r.process = c.fault_process
        and r.sequence = c.fault_sequence
    left join scenario_faults as f on f.run = r.run and f.fault = r.fault
    """,
)

VIEWS = (CAUSES,)
