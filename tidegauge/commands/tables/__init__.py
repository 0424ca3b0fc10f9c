"""The commands that write rows and tables for other tools: ``exporting.py`` is ``export``.

Options of them are in ``commands/result_options.py``.
"""
