"""Numbers with names that messages and rows of the trace carry: errors, API keys, reasons.

A module has the numbers of one subject as constants, and their names for people. It imports
``tidegauge.compiled.codes`` alone, so that readers of traces do not need the kernel.
"""
