"""The files that a cluster is imported from: a dump, resources of Strimzi, or both.

A file is recognised by its content. With both, the dump has the topics, and the resources have the
nodes and their settings.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from tidegauge.real_cluster.describe.describe_dump import DescribeDump, read_describe_dump
from tidegauge.real_cluster.describe.input_file import file_text, input_error, read_text
from tidegauge.real_cluster.describe.strimzi_cluster import StrimziCluster, strimzi_cluster
from tidegauge.real_cluster.describe.strimzi_resources import is_yaml, strimzi_resources


class ClusterSources(NamedTuple):
    """The topics of a cluster, and its nodes if resources have them."""

    dump: DescribeDump
    resources: StrimziCluster | None


def read_sources(files: Sequence[Path]) -> ClusterSources:
    """The cluster in these files.

    Raises:
        TidegaugeError: a file cannot be read or is not valid, or two are dumps.
    """
    texts = [(file, read_text(file)) for file in files]
    documents = [(file, text) for file, text in texts if is_yaml(file, text)]
    dumps = [each for each in texts if each not in documents]
    if len(dumps) > 1:
        message = f"is a second dump beside {file_text(dumps[0][0])}: import one"
        raise input_error(dumps[1][0], None, message)
    resources = strimzi_cluster(strimzi_resources(documents)) if documents else None
    if dumps:
        return ClusterSources(read_describe_dump(*dumps[0]), resources)
    assert resources is not None
    return ClusterSources(resources.dump, resources)
