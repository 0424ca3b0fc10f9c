"""The events of virtual time: a class for each kind of message, timer and fault.

* ``event.py``: the common part of all kinds, and the way from a class to a kind;
* the other modules: the kinds, by sender and receiver;
* ``kinds.py``: all of them, and their facts by number for compiled code.

**To add a kind**: a class in the module of its subject, with a number that is free, and a handler
with ``@handles`` in the room of the process that it reaches.
"""
