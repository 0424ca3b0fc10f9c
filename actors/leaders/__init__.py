"""A broker as leader: its log and high watermark, and the ISR that it shrinks and expands.

An ISR is written to ZooKeeper (``isr_changes.py``) or proposed to the controller
(``alter_partition.py``), as the release does.
"""
