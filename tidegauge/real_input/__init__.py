"""What tools print about a real cluster, and the scenario that it becomes.

=========================  ==============================================================
``input_file.py``          the lines of any input file, and what is wrong with it
``describe_dump.py``       what kafka-topics --describe printed
``described_cluster.py``   the brokers of such a dump, who of them is down, what it lacks
``server_properties.py``   a broker's server.properties, read as Java reads it
``cluster_settings.py``    several of those: what brokers have in common, racks, protocol
``setting_values.py``      what of such settings a scenario takes
``release_hints.py``       which release of Kafka all that comes from
``reassignment_plan.py``   the JSON of kafka-reassign-partitions
``topic_rates.py``         a table of messages and bytes a second, and the producers it needs
``imported_scenario.py``   all of it together, checked as any scenario is
``scenario_text.py``       the YAML that people read and change
``notices.py``             what people are told about all that was left out or assumed
=========================  ==============================================================

Nothing is assumed silently: what the files do not say stands in a notice, on the terminal and
at the top of the scenario.
"""
