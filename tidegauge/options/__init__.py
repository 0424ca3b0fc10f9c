"""Options that several commands share: each checks its values and becomes a request.

``run_request.py``, ``sweep_request.py`` and ``compare_request.py`` are whole requests;
``costs_file.py``, ``hosting.py``, ``watching.py``, ``measured_rates.py``, ``figure_names.py`` and
``run_argument.py`` parts of them;
``extras.py`` checks for packages, ``new_file.py`` a scenario to write, ``batch_options.py`` the
options of many runs.
"""
