"""Many runs of one small cluster in compiled code: each with a schedule of its own, and judged.

A campaign runs schedules by the thousand. A schedule is what deviates from the undisturbed run:
faults, steps of the operator, and pinned messages, each chosen from a list that a scenario has
laid out (``schedules.py``). One call of compiled code takes a batch of them (``batches.py``). For
each run it restores the tables of the cluster that is up (``kept_states.py``), draws a schedule
(``drawing.py``), runs it, judges its rows, and leaves what broke and which abstract states were
reached (``coverage.py``). No run writes a trace. A finding is a schedule, which is written as a
scenario and run again like any other (``fuzzed_cluster.py``).

A schedule can also be given (``FuzzedCluster.run_schedule``), and the states through which it leads
a partition are read: so ``tidegauge/search/explaining.py`` searches the schedules behind a picture.

A kind of fault that the scenario model knows is drawn as soon as a profile lists it
(``tidegauge/search/profiles.py``): nothing here knows the kinds.
"""
