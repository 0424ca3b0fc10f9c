"""Requests to ZooKeeper, its responses and its news."""

from __future__ import annotations

from tidegauge.simulation.messages.event import News, Response, Timer, ZooKeeperRequest


class ZkConnectRequest(ZooKeeperRequest, kind=50):
    """..."""


class ZkPingRequest(ZooKeeperRequest, kind=51):
    """..."""


class ZkCreateRequest(ZooKeeperRequest, kind=52):
    """..."""


class ZkSetRequest(ZooKeeperRequest, kind=53):
    """..."""


class ZkGetRequest(ZooKeeperRequest, kind=54):
    """..."""


class ZkExistsRequest(ZooKeeperRequest, kind=55):
    """..."""


class ZkChildrenRequest(ZooKeeperRequest, kind=56):
    """..."""


class ZkDeleteRequest(ZooKeeperRequest, kind=57):
    """..."""


class ZkCloseRequest(ZooKeeperRequest, kind=59):
    """..."""


class ZkIsQuiescentRequest(ZooKeeperRequest, kind=62):
    """What no client can ask, but a test harness: whether everything has come to rest."""


class ZkConfigureRequest(ZooKeeperRequest, kind=63):
    """A topic's settings are written, and all brokers that watch are told."""


class ZkThrottleRequest(ZooKeeperRequest, kind=64):
    """Throttles of replication are written, and the brokers told."""


class ZkResponse(Response, kind=60):
    """..."""


class ZkWatch(News, kind=61):
    """..."""


class ConfigChanged(News, kind=48):
    """..."""


class ThrottlesChanged(News, kind=67):
    """..."""


class ZkTick(Timer, kind=58):
    """..."""
