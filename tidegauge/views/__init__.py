"""The views: the output of commands, a file for each view. They take results, and parse no option.

``output.py`` is the console and JSON, ``progress.py`` the progress of a command, ``story_lines.py``
the lines of a story and ``time_axis.py`` the axis of pictures.
"""
