"""The commands of ``tidegauge``: the options of each, and the function that performs it.

``*_options.py`` are the options of all commands as named tuples, by their aims; nothing there takes
long to import, so ``--help`` is quick. The other modules perform commands, one or two related ones
each: they take the options, call the rooms below, and print through ``views``. ``loading.py`` has
their prerequisites: scenarios, runs, rules. ``performing.py`` performs one run, and
``performing_many.py`` many. The room ``snapshots`` has the commands that continue from a snapshot,
and ``tables`` those that write rows and tables for other tools.

A wrong input raises ``TidegaugeError``, and no command ends the process for it.

**To add a command**: a class of options, a function that takes it, and a line in
``tidegauge/command_line.py``; then ``make docs``.
"""
