"""Groups that run apart: windows of virtual time, and the frames that they exchange.

``windows.py`` decides how far a group may run, ``lookahead.py`` from which latencies that follows.
``frames.py`` writes and reads frames, ``exchange_state.py`` is the state of it, laid out by
``frame_exchange.py``. Frames travel over ``frame_links.py`` and ``system_calls.py``;
``handshake.py`` opens these links and authenticates them.
"""
