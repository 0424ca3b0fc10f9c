"""Everything about real clusters: their owners' files become scenarios, runs and costs.

==============  ==================================================================================
room            subject
==============  ==================================================================================
``describe``    dumps and settings (``kafka-topics --describe``, server.properties): a scenario
``logs``        logs of brokers and controllers: a run like any other
``rates``       Prometheus or its files: the workload of a scenario
``costs``       measured times: the costs of a scenario
``incident``    logs of an incident: the faults of a scenario, and both runs side by side
==============  ==================================================================================
"""
