"""Groups of processes that run apart: what they send each other, and how far each may run.

==============  ==================================================================================
subject         file
==============  ==================================================================================
messages        ``rings.py``: rows in rings, from one group to another
the horizon     ``promises.py``: what each group promises, and how others read it; ``lookahead.py``:
                the least time of a message between two groups
waits           ``windows.py``, compiled; ``links.py``: sockets, and their ends
memory          ``shared_memory.py``: its layout; ``atomic_words.py``; ``state.py``: the tables of a
                group
the beginning   ``handshake.py``: sockets are opened and authenticated
system calls    ``system_calls.py``
==============  ==================================================================================
"""
