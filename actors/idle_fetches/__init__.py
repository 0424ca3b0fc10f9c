"""Idle fetches: what is known to happen is computed when it is needed, not handled event by event.

A follower that has all there is fetches again and again, and each fetch waits in the purgatory for
replica.fetch.wait.max.ms and brings nothing. In a large cluster these are nine of ten events. Their
times are known in advance: they follow from latencies, whose draws are keyed by link and number,
and from costs that are fixed. So two brokers whose fetches from each other are all of this kind are
an *idle pair*: their fetches are no events, but a stage and its time (``IdleFetch``).

==============  ============================================================================
stage           the event in its place
==============  ============================================================================
``REQUESTED``   the request arrives at the leader, where it finds nothing
``WAITS``       it expires in the purgatory, and an empty response is sent
``ANSWERED``    the response arrives at the follower, which sends its next request
==============  ============================================================================

``stages.catch_up`` brings a pair to the event that is being handled: whatever the stages before it
leave behind is what their events would have left. A reader of that state calls it first. Whatever
changes what a fetch finds, or what its messages meet, calls ``pairs.wake_pair`` or
``pairs.wake_all`` first: the pair's pending events are then made, and handled as all others.

An idle fetch takes no request handler. So that none is missed, each pair goes ahead of time through
a span of ``SPAN_US`` (``ahead.py``), and the arrivals of its fetches are entered in slots
(``arrivals.py``) that each bound how many are handled at one time. If these and the other requests
of a broker could need all of its num.io.threads, its pairs are woken, and the request handlers
decide as ever.

The events of a run are handled one by one where an idle fetch would leave more than this behind:
if metrics are served, at trace level ``all``, and if the costs of a request are drawn. The
environment variable ``TIDEGAUGE_EAGER=1`` demands it. The hash is the same in each case.

The two brokers of a pair can be in two groups. Then each group computes all of the pair, and counts
the events of its own broker; ``across.py`` has the agreement between them. That needs one fetcher
per source broker, and all groups on one machine.

``stages.py`` goes from stage to stage, ``ahead.py`` through a span at once, ``arrivals.py`` knows
which request handlers idle fetches could need, ``pending.py`` makes the events of a stage,
``pairs.py`` lets pairs become idle and wakes them.
This room imports from ``actors/state`` and from ``simulation``.
"""
