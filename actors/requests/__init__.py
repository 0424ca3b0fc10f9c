"""The requests that ``num.io.threads`` handle, each in its own file.

``request_handlers.py`` gives a request its thread and calls its handler.
"""
