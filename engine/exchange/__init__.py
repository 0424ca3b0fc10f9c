"""Groups that run apart: windows of virtual time, and the frames that they exchange.

``windows.py`` decides the horizon of a group. ``frames.py`` writes and reads frames;
``frame_exchange.py`` has their state, and the least latencies that a window follows from. Frames
travel over ``frame_links.py`` and ``system_calls.py``; ``handshake.py`` opens them and
authenticates them.
"""
