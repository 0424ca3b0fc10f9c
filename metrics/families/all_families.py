"""The one table of metrics: an entry here, and nothing else, makes a metric.

An entry (``family.py``) names a scope and says how its value is read from the scope's columns: the
fields of its record in ``snapshots/gauges.py`` and what ``samples/exposition.py`` adds. Its name
follows from the spelling (``metrics/spellings``).

Not served, as the simulation has no values for them: connections, and all metrics of the JVM and
the operating system.
"""

from tidegauge.metrics.families import (
    broker_families,
    controller_families,
    own_families,
    request_families,
)
from tidegauge.metrics.families.family import Family

FAMILIES: tuple[Family, ...] = (
    *broker_families.REPLICA_MANAGER,
    *broker_families.FETCHERS_AND_BROKER,
    *broker_families.TRAFFIC,
    *broker_families.METADATA_LOG,
    *broker_families.OUR_OWN,
    *controller_families.EVERY_MODE,
    *controller_families.QUORUM,
    *controller_families.ZOOKEEPER,
    *controller_families.STATE,
    *controller_families.RAFT,
    *controller_families.CHANNEL,
    *controller_families.OUR_OWN,
    *request_families.REQUESTS,
    *request_families.ZOOKEEPER_CLIENT,
    *broker_families.PARTITIONS,
    *broker_families.LOGS,
    *broker_families.REPLICAS_OUR_OWN,
    *own_families.CLUSTER,
    *own_families.PARTITIONS,
    *own_families.GROUPS,
    *own_families.METADATA,
    *own_families.ZOOKEEPER,
    *own_families.CLIENTS,
    *own_families.SIMULATION,
    *own_families.ACTORS,
    *own_families.METRICS,
)
