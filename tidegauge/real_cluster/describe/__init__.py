"""Import of a real cluster: from the output of its tools to a scenario.

=========================  ==============================================================
``input_file.py``          the lines of any input file, errors and notices about it
``describe_dump.py``       the output of kafka-topics --describe
``described_cluster.py``   the brokers of such a dump, those down, missing parts
``strimzi_resources.py``   Kafka, KafkaNodePool and KafkaTopic of Strimzi, as YAML
``strimzi_cluster.py``     the nodes that its operator makes of them
``strimzi_topics.py``      the topics, placed as Kafka places new ones
``server_properties.py``   brokers' server.properties, read as Java reads them
``broker_configs.py``      the output of kafka-configs --describe, laid over these
``cluster_settings.py``    several of those: common settings, racks, protocol
``release_hints.py``       the release of Kafka of the files
``kraft_tools.py``         the output of kafka-features and kafka-metadata-quorum
``described_quorum.py``    the controllers of a KRaft cluster
``reassignment_plan.py``   the JSON of kafka-reassign-partitions
``topic_rates.py``         the clients: a table of rates, or measured ones (``rates``)
``log_sizes.py``           the output of kafka-log-dirs, as sizes of topics
``imported_scenario.py``   all of it together, checked as any scenario is, and its YAML
``release_change.py``      a change of its release or mode: defaults, standard faults
``upgrade_path.py``        the way to a newer release: steps, clients, removed settings
=========================  ==============================================================

No assumption is silent: each value that the files do not have is reported in a notice, on the
terminal and at the top of the scenario.
"""
