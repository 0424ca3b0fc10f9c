"""A broker: its request handlers, its threads and its periodic tasks, over the rules.

``broker.py`` is the door, and says where everything of Kafka's broker is found; ``state.py``
is all that a broker remembers, ``new_tables.py`` its beginning. ``lifecycle.py`` says how its
process begins and ends and what survives, ``forgetting.py`` what does not. ``log_directory.py``
writes and reads checkpoints as files. ``broker_actor.py`` is a shell without rules or state in
which Ray hosts brokers and clients.

One record's way from produce to high watermark: ``request_handlers.take_request`` gives the
request a thread, ``produce.handle_produce`` checks and appends (``leader.append_to_leader``),
which wakes the followers' fetches (``delayed_operations.wake_fetches``); they append
(``follower.handle_fetch_response``) and fetch again; ``fetch.handle_fetch`` counts that fetch
(``leader.count_fetch``), and ``leader.try_high_watermark`` moves the high watermark, answers
the producer and wakes the consumers.

**To add a request**: its kind in ``simulation/kinds.py``, a branch in
``request_handlers.handle``, its handler in a file of its own.

This room imports from ``replication`` and ``simulation`` only; the controller and ZooKeeper
(``controller``) are met through messages.
"""
