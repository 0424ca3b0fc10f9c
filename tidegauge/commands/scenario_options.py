"""The options of commands that make, list and check scenarios; of the demonstration, the manual."""

from pathlib import Path
from typing import Annotated, NamedTuple

import typer

from tidegauge.commands import shared_options as shared
from tidegauge.replication.release_versions import DEFAULT_RELEASE, Release


class DemoOptions(NamedTuple):
    """Run a demonstration: a crash on Ray, then a real cluster that loses a rack.

    It takes a minute. The clusters have KRaft. Each step is a command, which is
    printed and run as if typed.

    \b
    Examples:
      tidegauge demo
      tidegauge demo --out runs/seen
      tidegauge demo --zookeeper --out runs/before
    """

    context: typer.Context
    #: Folder for the runs. Default: runs/demo.
    out: Annotated[Path | None, typer.Option(metavar="DIR")] = None
    #: Clusters with ZooKeeper, of Kafka 2.6, in their place.
    zookeeper: bool = False


class ScenariosOptions(NamedTuple):
    """List the shipped scenarios, a line for each; or those about a word, or tell one of them.

    With the name of a scenario the command prints its size, its description, and its faults and
    steps with their times. Any other word lists the scenarios that have it in their name or
    description. Run a scenario by its name, or copy and change its file.

    \b
    Examples:
      tidegauge scenarios
      tidegauge scenarios unclean
                                 those about unclean elections
      tidegauge scenarios isr-storm
      tidegauge scenarios --json
      tidegauge run isr-storm
                                 run one of them
    """

    #: A shipped scenario, a scenario file, or a word. Default: all shipped ones.
    name: Annotated[str | None, typer.Argument(metavar="NAME|WORD")] = None
    #: Print JSON, with the files' paths.
    as_json: Annotated[bool, typer.Option("--json")] = False


class DocsOptions(NamedTuple):
    """List the pages of the manual, or print one.

    The manual is installed with Tidegauge. A page is Markdown, as it is in the folder docs.

    \b
    Examples:
      tidegauge docs
      tidegauge docs first-hour
      tidegauge docs limits | less
    """

    #: The name of a page.
    name: Annotated[str | None, typer.Argument(metavar="[NAME]")] = None


class SchemaOptions(NamedTuple):
    """Print the JSON schema of scenario files.

    With the schema editors complete names, show their meanings and underline errors. The shipped
    scenarios refer to it in their first line.

    \b
    Examples:
      tidegauge schema > scenario.schema.json
      # and then, as the first line of a scenario:
      # yaml-language-server: $schema=scenario.schema.json
    """


class ImportOptions(NamedTuple):
    """Make a scenario of a real cluster.

    Brokers, racks, settings, partitions, leaders and ISRs are those of the files. Brokers that
    were down are down in the scenario. Missing facts are assumed, and each assumption is printed.
    The scenario is YAML: add faults to it, and run it.

    \b
    Examples:
      kafka-topics.sh --bootstrap-server kafka:9092 --describe > describe.txt
      tidegauge import describe.txt -o mine.yaml
      kafka-topics.sh --bootstrap-server kafka:9092 --describe | tidegauge import - -o mine.yaml
      tidegauge import describe.txt --properties 'server-*.properties' -o mine.yaml
      tidegauge import describe.txt --properties server-1.properties \\
          --properties server-2.properties --rates rates.csv -o mine.yaml
      tidegauge import describe.txt --prometheus http://prometheus:9090 -o mine.yaml
      tidegauge import describe.txt --prometheus http://prometheus:9090 \\
          --match 'cluster="a"' --at 2026-11-24T17:40:00Z --over 1h -o mine.yaml
      tidegauge import describe.txt --samples first/ --samples second/ -o mine.yaml
      tidegauge import describe.txt --reassignment move.json --reassign-at 90s -o move.yaml
      kafka-log-dirs.sh --bootstrap-server kafka:9092 --describe > log-dirs.txt
      tidegauge import describe.txt --log-dirs log-dirs.txt -o mine.yaml
      tidegauge import describe.txt --up 102 --release 2.4 -o mine.yaml
      tidegauge import describe.txt --features features.txt --quorum quorum.txt -o mine.yaml
      kafka-configs.sh --bootstrap-server kafka:9092 --describe --all --entity-type brokers \\
          --entity-name 1 > configs.txt
      tidegauge import describe.txt --properties configs.txt -o mine.yaml
      tidegauge import kafka.yaml -o mine.yaml
      kubectl get kafka,kafkanodepool,kafkatopic -o yaml | tidegauge import - -o mine.yaml
      tidegauge import describe.txt kafka.yaml node-pools.yaml -o mine.yaml
      tidegauge import describe.txt --release 3.9 -o mine.yaml
    """

    #: The output of kafka-topics.sh --describe, resources of Strimzi (Kafka, KafkaNodePool,
    #: KafkaTopic), or both; a folder or a pattern in quotes of such resources; - for standard
    #: input.
    files: Annotated[list[Path], typer.Argument(metavar="FILE...")]
    out: shared.NewFile
    #: A broker's server.properties, a folder of such files, or a pattern in quotes; or the output
    #: of kafka-configs.sh --describe of brokers. Repeatable.
    properties: Annotated[list[Path] | None, typer.Option(metavar="FILE")] = None
    #: The JSON input of kafka-reassign-partitions, or the output of its --generate.
    reassignment: Annotated[Path | None, typer.Option(metavar="FILE")] = None
    #: The start of that reassignment.
    reassign_at: Annotated[str, typer.Option(metavar="TIME")] = "60s"
    #: CSV with the columns topic,messages_per_second,bytes_per_second, and acks if wanted.
    rates: Annotated[Path | None, typer.Option(metavar="FILE")] = None
    prometheus: shared.Prometheus = None
    #: The same from files. A scrape is a file, or a folder or a pattern in quotes with a file for
    #: each broker: the text format of Prometheus or OpenMetrics, lines of `promtool tsdb dump`, or
    #: the JSON of /api/v1/query or /api/v1/query_range. Given twice for two scrapes, the earlier
    #: first: rates are those between them.
    samples: Annotated[list[Path] | None, typer.Option(metavar="SCRAPE")] = None
    at: shared.MeasuredAt = None
    over: shared.MeasuredOver = None
    match: shared.Matchers = None
    #: The names of those series, as in `tidegauge run`; a file of rules for the JMX exporter is
    #: one. Default: recognised.
    metrics_spelling: Annotated[str | None, typer.Option(metavar="NAME|FILE")] = None
    #: A file with the output of kafka-features.sh describe, of a KRaft cluster.
    features: Annotated[Path | None, typer.Option(metavar="FILE")] = None
    #: A file with the output of kafka-log-dirs.sh --describe: the sizes of all logs.
    log_dirs: Annotated[Path | None, typer.Option(metavar="FILE")] = None
    #: A file with the output of kafka-metadata-quorum.sh describe, --status or --replication.
    quorum: Annotated[Path | None, typer.Option(metavar="FILE")] = None
    #: This broker is up, though it looks down.
    up: Annotated[list[int] | None, typer.Option(metavar="ID")] = None
    #: This broker is down.
    down: Annotated[list[int] | None, typer.Option(metavar="ID")] = None
    #: Release of Kafka. Default: guessed from the files.
    release: Annotated[str | None, typer.Option(metavar="RELEASE")] = None
    #: Duration of the run, in virtual time.
    duration: Annotated[str, typer.Option(metavar="TIME")] = "5m"
    #: Name of the scenario. Default: the name of its file.
    name: str | None = None
    force: shared.Force = False


class CalibrateOptions(NamedTuple):
    """Fit the costs of work to a real cluster, from its own logs and metrics.

    Logs have the costs of starts, stops, log recovery, elections, ISR changes and publications of
    metadata: each is the time between two lines. Metrics have those of requests (RequestMetrics)
    and the bandwidth of disks (node_exporter). Kafka's default log levels are enough.

    The command prints for each parameter the quantiles, the number of samples, their spread (the
    longest by the shortest), the default, and the lines or metrics that it is from. A parameter
    without samples stays at its default, with the reason. `tidegauge validate` does not mark
    calibrated parameters with a star.

    \b
    Examples:
      tidegauge calibrate --logs cluster-logs -o costs.yaml
      tidegauge run mine.yaml --costs costs.yaml
      tidegauge calibrate --logs cluster-logs --scenario mine.yaml -o mine-calibrated.yaml
                                 a copy of the scenario with these costs
      tidegauge calibrate --logs cluster-logs --prometheus http://prometheus:9090 --over 1h \\
          -o costs.yaml
      tidegauge calibrate --logs monday --logs tuesday --schedule wednesday/schedule.json
                                 how much closer to real times the calibrated costs come
    """

    #: A folder with the logs of each node in a folder of its own: server.log, controller.log,
    #: state-change.log, rotated or compressed. Repeatable, for several periods, or clusters of one
    #: kind.
    logs: Annotated[list[Path] | None, typer.Option(metavar="DIR")] = None
    #: Samples of metrics: pages of exporters, OpenMetrics, `promtool tsdb dump`, saved responses of
    #: Prometheus. Repeatable, in the order of the scrapes.
    samples: Annotated[list[Path] | None, typer.Option(metavar="FILE")] = None
    prometheus: shared.Prometheus = None
    at: shared.MeasuredAt = None
    over: shared.MeasuredOver = None
    match: shared.Matchers = None
    #: The file to write: costs for `tidegauge run --costs`, or with --scenario that scenario with
    #: these costs.
    out: Annotated[Path | None, typer.Option("--out", "-o", metavar="FILE")] = None
    #: Write a copy of this scenario.
    scenario: Annotated[Path | None, typer.Option(metavar="FILE")] = None
    #: Play this recorded schedule with default and with calibrated costs, and compare times with
    #: those in truth.json beside it. Repeatable.
    schedule: Annotated[list[Path] | None, typer.Option(metavar="FILE")] = None
    #: Play each schedule with this number of seeds.
    seeds: Annotated[int, typer.Option(min=1)] = 10
    force: shared.Force = False


class GenerateOptions(NamedTuple):
    """Make a scenario of a cluster of which there are only numbers.

    Sizes and rates of topics are skewed by Zipf's law: that of rank r is proportional to
    1 / r ** skew. Their sums are those of the options. The replicas go where Kafka puts those of a
    new topic, over racks, with ZooKeeper and with KRaft by its own algorithm. The scenario is YAML
    with the assumptions at its top: add faults to it, and run it. For a cluster that exists,
    `tidegauge import` has its real layout.

    \b
    Examples:
      tidegauge generate -o mine.yaml
      tidegauge generate --brokers 12 --topics 80 --partitions 1500 --release 3.9 -o mine.yaml
      tidegauge generate --brokers 100 --racks 3 --topics 2000 --partitions 200000 \\
          --size-skew 0.7 --rate-skew 1.2 --batches-per-second 20000 --seed 1 -o big.yaml
      tidegauge generate --release 3.9 --mode kraft --batches-per-second 0 -o idle.yaml
    """

    out: shared.NewFile
    #: Number of brokers.
    brokers: Annotated[int, typer.Option(min=1)] = 6
    #: Number of racks, to which brokers are assigned in turn.
    racks: Annotated[int, typer.Option(min=1)] = 3
    #: Controllers of a KRaft cluster: 1, 3 or 5. Default: 3.
    controllers: Annotated[int | None, typer.Option(min=1)] = None
    #: Number of topics.
    topics: Annotated[int, typer.Option(min=1)] = 20
    #: Number of partitions of all topics together.
    partitions: Annotated[int, typer.Option(min=1)] = 300
    #: Replicas of each partition.
    replication_factor: Annotated[int, typer.Option(min=1)] = 3
    #: min.insync.replicas of all topics. Default: one less than the replicas.
    min_insync_replicas: Annotated[int | None, typer.Option(min=1)] = None
    #: Exponent of Zipf's law for the partitions of topics; 0: all have the same.
    size_skew: Annotated[float, typer.Option(min=0, max=10)] = 0.6
    #: Exponent of Zipf's law for their rates; 0: all have the same.
    rate_skew: Annotated[float, typer.Option(min=0, max=10)] = 1.1
    #: Share of topics that have no clients.
    idle: Annotated[float, typer.Option(min=0, max=1)] = 0.2
    #: Rate of all producers together; 0: there are no clients.
    batches_per_second: Annotated[float, typer.Option(min=0, max=1_000_000)] = 200
    #: Groups of consumers that read each topic with producers.
    consumer_groups: Annotated[int, typer.Option(min=0)] = 1
    #: Release of Kafka.
    release: Annotated[str, typer.Option(metavar="RELEASE")] = DEFAULT_RELEASE
    #: zookeeper or kraft. Default: zookeeper up to 3.9, kraft from 4.0.
    mode: Annotated[str | None, typer.Option(metavar="MODE")] = None
    #: Duration of the run, in virtual time.
    duration: Annotated[str, typer.Option(metavar="TIME")] = "5m"
    #: Seed of the layout, and of all random draws of the run.
    seed: Annotated[int, typer.Option(min=0)] = 1
    force: shared.Force = False

    @property
    def name(self) -> str:
        """The name of the scenario: that of its file."""
        return self.out.stem

    @property
    def mode_in_force(self) -> str:
        """The mode, by default that of the release."""
        return self.mode or Release.parse(self.release).mode()

    @property
    def least_in_sync(self) -> int:
        """The min.insync.replicas of all topics: by default one replica may be missing."""
        if self.min_insync_replicas is not None:
            return self.min_insync_replicas
        return max(1, self.replication_factor - 1)

    @property
    def idle_topics(self) -> int:
        """The number of topics without clients; at least one topic has some."""
        return min(round(self.topics * self.idle), self.topics - 1)


class LintOptions(NamedTuple):
    """Find faults of a cluster that are known to cause outages, without a run.

    Each finding has the number of partitions, brokers, producers or settings concerned and names
    a few, the risk, the change that mends it, and a command whose run shows it. The manual lists
    all checks.

    The exit status is 0, with --strict 1 if there are findings. It is 2 if the scenario cannot be
    read.

    \b
    Examples:
      tidegauge lint mine.yaml
      tidegauge lint quickstart --set topics.orders.settings.min.insync.replicas=3
      tidegauge lint mine.yaml --strict
      tidegauge lint mine.yaml --json
    """

    scenario: shared.ScenarioName
    #: Change a field of the scenario.
    changes: Annotated[list[str] | None, typer.Option("--set", metavar="PATH=VALUE")] = None
    #: Exit with status 1 if there are findings.
    strict: bool = False
    #: Print JSON, for other programs.
    as_json: Annotated[bool, typer.Option("--json")] = False


class ValidateOptions(NamedTuple):
    """Check a scenario, and predict its run, without running it.

    The command prints the size of the cluster, the time and memory of a run, and the timetable of
    faults and steps. With --verbose it lists topics, clients, the settings without effect, and the
    cost parameters and resources on which the result depends. The prediction is that of an inline
    run on this machine, from the size of the cluster and its expected events, by costs that were
    measured and a short calibration of this machine; most predictions are within a factor of 1.5.

    Likely mistakes, such as min.insync.replicas above the replication factor, are printed first,
    on standard error. The findings of `tidegauge lint` are printed last, a line for each.

    The exit status is 0 if the scenario can be run. It is 2 if not; then each error names the line
    of the file and the reason.

    \b
    Examples:
      tidegauge validate my-cluster.yaml
      tidegauge validate my-cluster.yaml --verbose
      tidegauge validate rack-power-loss --actors 2
      tidegauge validate isr-storm --set topics.orders.partitions=100000
      tidegauge validate my-cluster.yaml --costs costs.yaml
                                 costs of your own cluster, from `tidegauge calibrate`
      tidegauge validate my-cluster.yaml --json
    """

    scenario: shared.ScenarioName
    inline: shared.Inline = False
    ray: shared.OnRay = False
    actors: shared.Actors = None
    #: Change a field of the scenario.
    changes: Annotated[list[str] | None, typer.Option("--set", metavar="PATH=VALUE")] = None
    costs: shared.CostsFile = None
    #: Another seed; it draws other faults.
    seed: int | None = None
    #: List topics, clients, settings without effect, costs and resources, too.
    verbose: Annotated[bool, typer.Option("--verbose", "-v")] = False
    #: Print JSON, for other programs.
    as_json: Annotated[bool, typer.Option("--json")] = False
