"""A broker: its request handlers, its threads and its periodic tasks, over the rules.

================  ==================================================================================
room or file      subject
================  ==================================================================================
``broker.py``     every event that reaches a broker, and where everything of Kafka's broker is found
``state``         records of a broker, its locks, its counters
``storage``       log directories, checkpoints, logs, flushes, offsets of groups
``session``       the broker's one ZooKeeper session, and what it reads and writes there
``idle_fetches``  fetches that bring nothing, which are computed
``fetches``       a fetcher thread, fetch sessions, reading for a fetch, purgatories
``leaders``       a leader's log, its high watermark, its ISR
``process``       the process: start, end, controlled shutdown, failed log directories
``followers``     fetching, appending and truncating as a follower
``metadata``      KRaft: registration, heartbeats, the metadata log as a broker reads it
``requests``      ``num.io.threads`` and each request that they handle
================  ==================================================================================

``zookeeper_responses.py`` handles ZooKeeper's responses and ``sampling.py`` the periodic samples.
``broker_actor.py`` is a shell without rules or state in which Ray hosts brokers and clients.

One record's way from produce to high watermark: ``request_handlers.take_request`` gives the
request a thread, ``produce.handle_produce`` checks and appends (``leader.append_to_leader``),
which wakes the followers' fetches (``fetch_purgatory.wake_fetches``); they append
(``follower.handle_fetch_response``) and fetch again; ``fetch.handle_fetch`` counts that fetch
(``leader.count_fetch``), and ``leader.try_high_watermark`` moves the high watermark, answers
the producer and wakes the consumers.

**To add a request**: its class in ``simulation/messages``, and its handler with
``@REQUESTS.handles`` in a file of its own in ``requests``, which ``request_handlers.py`` names. Any
other event of a broker has its handler with ``@BROKER.handles`` where its subject is.

This room imports from ``simulation`` and the rooms below it; the controller and ZooKeeper
(``controller``) are met through messages.
"""
