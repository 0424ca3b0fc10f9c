"""Import of a real cluster: from the output of its tools to a scenario.

=========================  ==============================================================
``input_file.py``          the lines of any input file, and errors about it
``describe_dump.py``       the output of kafka-topics --describe
``described_cluster.py``   the brokers of such a dump, those down, missing parts
``properties_files.py``    the files of ``--properties``: a file, a folder, a pattern
``server_properties.py``   a broker's server.properties, read as Java reads it
``cluster_settings.py``    several of those: common settings, racks, protocol
``setting_values.py``      the settings that a scenario takes
``release_hints.py``       the release of Kafka of the files
``feature_levels.py``      the output of kafka-features, of a KRaft cluster
``described_quorum.py``    the controllers of a KRaft cluster
``reassignment_plan.py``   the JSON of kafka-reassign-partitions
``topic_rates.py``         a table of messages and bytes a second, and the producers it needs
``measured_workload.py``   clients as a monitoring system has measured them (``real_rates``)
``log_dirs.py``            the output of kafka-log-dirs: sizes of logs
``log_sizes.py``           those sizes as the fields of topics
``imported_scenario.py``   all of it together, checked as any scenario is
``scenario_text.py``       the YAML of the scenario
``notices.py``             notices of omissions and assumptions
=========================  ==============================================================

No assumption is silent: each value that the files do not have is reported in a notice, on the
terminal and at the top of the scenario.
"""
