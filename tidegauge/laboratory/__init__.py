"""The laboratory beside the product: Tidegauge held against Kafka, and described from its sources.

================  ================================================================================
room              subject
================  ================================================================================
``conformance``   recordings of real brokers, played by the simulator and compared line by line
``gallery``       incidents that Kafka's trackers describe, with the figures that they come to
``manual``        the generated pages of ``docs``
================  ================================================================================

``release_changes.py`` lists what the jars of a new release of Kafka have to do with Tidegauge.
"""
