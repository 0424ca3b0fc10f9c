"""The events of virtual time: a class for each kind of message, timer and fault.

* ``event.py``: what all kinds have, and how a class becomes a kind;
* the other modules: the kinds, by who asks whom;
* ``kinds.py``: all of them, and their facts by number for compiled code.

**To add a kind**: a class in the module of its subject, with a number that is free, and a handler
with ``@handles`` in the room of the process that it reaches.
"""
