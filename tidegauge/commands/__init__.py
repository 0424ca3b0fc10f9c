"""The commands of ``tidegauge``: what can be asked of each, and what performs it.

``*_options.py`` are the options of all commands as named tuples, by their aims; nothing there takes
long to import, so ``--help`` is quick. The other modules perform commands, one or two related ones
each: they take the options, call what does the work, and print through ``views``. ``loading.py`` is
what many of them begin with, ``performing.py`` one run, and ``performing_many.py`` many.

A wrong input raises ``TidegaugeError``, and no command ends the process for it.

**To add a command**: a class of options, a function that takes it, and a line in
``tidegauge/command_line.py``; then ``make docs``.
"""
