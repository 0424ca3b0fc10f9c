"""The options of commands that run scenarios, and of those that prepare it."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated, NamedTuple

import typer

from tidegauge.commands import shared_options as shared
from tidegauge.compiled.errors import TidegaugeError


class RunOptions(NamedTuple):
    """Run a scenario in virtual time; write manifest, trace and summary.

    All processes run in this interpreter, or in actors of Ray with --ray, --actors or --address.
    The same scenario and seed give the same trace, either way and on any machine. The exit status
    is 1 if a check has another verdict than the scenario expects, or if the condition of a step was
    not met in time.

    --seeds is a sweep over seeds: each run has its own folder. The file sweep.json beside them has
    mean, interval and worst of lost and failed records, stalls and outages. See also `tidegauge
    sweep`.

    --set changes a field of the scenario. PATH consists of names with dots between them; an item
    of a list has its index or its name. Below `settings` the rest of PATH is the name of one
    setting. VALUE is YAML, as in the file. Put text that looks like a number in double quotes.

    --without takes rules of Kafka's protocol away from all brokers, to see the promises that break
    without them. `tidegauge releases --ablations` lists them; `ablations` in the scenario does the
    same.

    \b
    Examples:
      tidegauge run quickstart
      tidegauge run quickstart --out runs/first
      tidegauge run rack-power-loss --actors 2 --speed 10 --out runs/rack
      tidegauge run my-cluster.yaml --out runs/mine --seed 7 --trace-level all
      tidegauge run cut-and-pause --seeds 1..20 --jobs 4
                                 twenty runs, and the distribution of their figures
      tidegauge run quickstart --metrics 9404
                                 in real time, for a Prometheus; targets: http://127.0.0.1:9404/sd
      tidegauge run quickstart --openmetrics quickstart.om
      tidegauge run rack-power-loss --snapshot-every 60s --snapshot-at 63.2s
                                 to continue from there: tidegauge resume, branch, inspect
      tidegauge run my-cluster.yaml --costs costs.yaml
                                 costs of your own cluster, from `tidegauge calibrate`
      tidegauge run quickstart --set faults.crash.for=2m --set 'release="3.9"' --set mode=kraft
      tidegauge run quickstart-zookeeper --set 'release="2.8"'
      tidegauge run quickstart --set cluster.settings.replica.lag.time.max.ms=10000
      tidegauge run quickstart-zookeeper --without truncate_to_high_watermark
    """

    scenario: shared.ScenarioName
    #: Folder for the run; new or empty. Default: runs/NAME-SEED.
    out: Annotated[Path | None, typer.Option(metavar="DIR")] = None
    inline: shared.Inline = False
    ray: shared.OnRay = False
    actors: shared.Actors = None
    #: Join the Ray cluster at this address. Default with --ray: the address in RAY_ADDRESS, else
    #: Ray starts on this machine.
    address: str | None = None
    #: Limit the speed to X times real time; or max. Default: max, with --metrics 1.
    speed: Annotated[str | None, typer.Option(metavar="X")] = None
    #: Serve metrics to a Prometheus during the run. Binds to loopback (127.0.0.1) by default; use
    #: HOST:PORT to expose them.
    metrics: Annotated[str | None, typer.Option(metavar="[HOST:]PORT")] = None
    #: Series of single partitions: full, topic (sums), sparse (unhealthy partitions only) or off.
    #: Default: full up to 10,000 partitions, then topic.
    metrics_level: str | None = None
    #: Names of Kafka's metrics: strimzi (default), strimzi-metrics-reporter, jmx-exporter,
    #: jmx-exporter-example, grafana-cloud, confluent, bitnami, or a file of rules for the JMX
    #: exporter.
    metrics_spelling: Annotated[str | None, typer.Option(metavar="NAME|FILE")] = None
    #: KRaft controllers that report counts of the cluster: active (default: sums are right), or
    #: faithful: each of them, as in Kafka.
    metrics_controllers: str | None = None
    #: Write the series of the whole run to this file, for promtool's `tsdb create-blocks-from
    #: openmetrics`.
    openmetrics: Annotated[Path | None, typer.Option(metavar="FILE")] = None
    #: The real time of virtual time 0 in that file. Default: the run ends now.
    openmetrics_start: Annotated[str | None, typer.Option(metavar="TIME")] = None
    #: Change a field of the scenario; VALUE is YAML. Repeatable.
    changes: Annotated[list[str] | None, typer.Option("--set", metavar="PATH=VALUE")] = None
    costs: shared.CostsFile = None
    #: Run with these ablations of the protocol, instead of the scenario's. Repeatable.
    without: Annotated[list[str] | None, typer.Option(metavar="ABLATION[,ABLATION...]")] = None
    #: Another seed than the scenario's.
    seed: int | None = None
    #: Run each of these seeds, as `tidegauge sweep` does.
    seeds: Annotated[str | None, typer.Option(metavar="A..B")] = None
    jobs: shared.Jobs = None
    #: transitions, or all: also single requests.
    trace_level: Annotated[str | None, typer.Option("--trace-level", "--trace")] = None
    #: Save the state of the whole run at this interval of virtual time, such as 60s: `tidegauge
    #: resume DIR` continues from there.
    snapshot_every: Annotated[str | None, typer.Option(metavar="DURATION")] = None
    #: Save the state at these virtual times, too. Repeatable.
    snapshot_at: Annotated[list[str] | None, typer.Option(metavar="TIME[,TIME...]")] = None
    #: Print all figures, a line for each group of producers, each check, and all that is left to
    #: chance. Default: the worst, in some fifteen lines.
    verbose: Annotated[bool, typer.Option("--verbose", "-v")] = False
    #: Print summary.json or sweep.json; all else goes to standard error.
    as_json: Annotated[bool, typer.Option("--json")] = False

    @property
    def hosting(self) -> shared.Hosting:
        """The options about processes."""
        return shared.Hosting(self.inline, self.ray, self.actors, self.address)

    def check(self) -> None:
        """Check that the options agree.

        Raises:
            TidegaugeError: two of them contradict each other, or one needs another.
        """
        self.hosting.check()
        of_metrics = {
            "--metrics-level": self.metrics_level,
            "--metrics-spelling": self.metrics_spelling,
            "--metrics-controllers": self.metrics_controllers,
        }
        if self.metrics is None and self.openmetrics is None:
            for option, value in of_metrics.items():
                if value is not None:
                    raise TidegaugeError(f"{option} needs --metrics or --openmetrics")
        if self.openmetrics_start is not None and self.openmetrics is None:
            raise TidegaugeError(
                "--openmetrics-start needs --openmetrics: it sets the times in that file"
            )
        if self.seeds is None:
            if self.jobs is not None:
                raise TidegaugeError("--jobs needs --seeds: one run is one job")
            return
        of_one_run = {
            "--seed": self.seed is not None,
            "--metrics": self.metrics is not None,
            "--openmetrics": self.openmetrics is not None,
            "--snapshot-every": self.snapshot_every is not None,
            "--snapshot-at": bool(self.snapshot_at),
            "--verbose": self.verbose,
        }
        for option, is_given in of_one_run.items():
            if is_given:
                raise TidegaugeError(f"--seeds and {option} exclude each other")
        if self.actors is not None or self.speed is not None:
            raise TidegaugeError(
                "--seeds runs each seed in one process at full speed: no --actors, no --speed"
            )

    def changed(self, *changes: str) -> RunOptions:
        """The same with more changes."""
        return self._replace(changes=[*(self.changes or ()), *changes])

    def command(self, seed: int, trace_level: str) -> str:
        """The shell command that repeats the run with this seed."""
        again = self._replace(
            seed=seed,
            trace_level=trace_level,
            out=None,
            seeds=None,
            jobs=None,
            as_json=False,
            verbose=False,
        )
        return shlex.join(["tidegauge", "run", *shared.words_of(again)])

    def over_seeds(self) -> str:
        """The shell command that shows how the figures of the run spread over seeds."""
        # Twenty seeds show a spread in a minute or two.
        again = RunOptions(
            self.scenario,
            changes=self.changes,
            costs=self.costs,
            without=self.without,
            seeds="1..20",
        )
        return shlex.join(["tidegauge", "run", *shared.words_of(again)])


class BranchOptions(NamedTuple):
    """Continue a run from a time on in another way: with other faults, steps, settings or seed.

    The branch is a run of its own, in a folder of its own. Until TIME it is the run that it
    continues, so all views show the past as well. Without a change its hash is that of RUN. RUN
    stays as it is.

    A run with a snapshot at TIME (`tidegauge run SCENARIO --snapshot-at 90s`) is continued at once.
    Else its past is repeated, from the last snapshot before TIME if there is one.

    --set changes the scenario as in `tidegauge run`, from TIME on: settings of brokers, controllers
    and producers, network, costs, duration, checks, and faults and steps that are still to come.
    Topics, brokers and their places cannot change. `tidegauge sweep --from RUN --at TIME` runs many
    branches of one past.

    \b
    Examples:
      tidegauge branch runs/roll --at 90s --fault '{kind: crash, at: 95s, for: 1m, brokers: [4]}'
      tidegauge branch runs/roll --at 90s --set cluster.settings.replica.lag.time.max.ms=10000
      tidegauge branch runs/roll --at 90s --set faults.disk.for=5m --set duration=20m
      tidegauge branch runs/roll --at 90s --seed 7 --out runs/roll-7
    """

    run: shared.RunPath
    #: The virtual time from which the run continues differently.
    at: Annotated[str, typer.Option(metavar="TIME")]
    #: Change a field of the scenario; VALUE is YAML. Repeatable.
    changes: Annotated[list[str] | None, typer.Option("--set", metavar="PATH=VALUE")] = None
    #: Add a fault, as in a scenario file. Repeatable.
    faults: Annotated[list[str] | None, typer.Option("--fault", metavar="YAML")] = None
    #: Add a step behind the others, as in a scenario file. Repeatable.
    steps: Annotated[list[str] | None, typer.Option("--step", metavar="YAML")] = None
    #: Another seed from then on.
    seed: int | None = None
    #: Folder for the branch; new or empty. Default: runs/NAME-SEED-from-TIME.
    out: Annotated[Path | None, typer.Option(metavar="DIR")] = None
    #: Save the state of the branch at this interval of virtual time, such as 60s.
    snapshot_every: Annotated[str | None, typer.Option(metavar="TIME")] = None
    #: Print all figures, a line for each group of producers, each check, and all that is left to
    #: chance. Default: the worst, in some fifteen lines.
    verbose: Annotated[bool, typer.Option("--verbose", "-v")] = False
    #: Print summary.json; all else goes to standard error.
    as_json: Annotated[bool, typer.Option("--json")] = False

    @property
    def command(self) -> str:
        """The shell command that repeats the branch."""
        again = self._replace(out=None, snapshot_every=None, verbose=False, as_json=False)
        return shlex.join(["tidegauge", "branch", *shared.words_of(again)])


class SweepOptions(NamedTuple):
    """Run a scenario with several values of its fields and many seeds, and compare them.

    Runs are on actors of Ray, one for each CPU. With seeds, each figure of each setting has its
    mean with an interval (95 %), the number of seeds in which it is above 0, P50, and the worst;
    P99 needs 100 seeds, and a figure that is mostly 0 has no interval. `tidegauge analyze` has
    more. Without seeds, one figure over two paths is a grid, anything else a line for each run. The
    worst run is an unexpected one, else the worst by the first figure in which runs differ. The
    exit status is 1 if a run failed, or if one of its checks has another verdict than the scenario
    expects.

    Every run has its own folder in DIR, named after its changes and its seed, for show, picture
    and describe. The same command, repeated, runs only missing, stopped and failed runs; with more
    values or seeds, only the new ones. sweep.json has the runs of the last command.

    \b
    Examples:
      tidegauge sweep lag-time --seeds 1..15 --out runs/lag-time \\
          --set cluster.settings.replica.lag.time.max.ms=10000,15000,30000,60000
      tidegauge sweep cut-and-pause --seeds 1..100 --analyze
      tidegauge sweep rolling-restart --set faults.roll.batch=1,2,3 --figure roll.seconds \\
          --figure partition_seconds_under_min_isr
      tidegauge sweep lag-and-session --figure partition_seconds_offline \\
          --set cluster.settings.replica.lag.time.max.ms=5000,10000,30000 \\
          --set cluster.settings.zookeeper.session.timeout.ms=6000,18000
      tidegauge sweep isr-storm --set release=2.6,2.8 --figure controller_queue_ms.max
      tidegauge sweep rolling-restart --figures
      tidegauge sweep --from runs/roll --at 90s --seeds 1..100
                                 a hundred futures of one past
    """

    #: A scenario file, or the name of a shipped scenario.
    scenario: Annotated[str | None, typer.Argument()] = None
    #: Change a field of the scenario. One VALUE applies to all runs. Several values have runs of
    #: their own, in each combination with the values of other paths.
    changes: Annotated[list[str] | None, typer.Option("--set", metavar="PATH=VALUE[,VALUE...]")] = (
        None
    )
    seeds: shared.Seeds = None
    #: A figure to show of each run: a number of summary.json, such as controller_queue_ms.p99, or
    #: the duration of a fault, such as roll.seconds.
    figures: Annotated[list[str] | None, typer.Option("--figure", metavar="NAME")] = None
    #: Continue this run from --at TIME on, in place of SCENARIO: all runs have its past. --set
    #: changes what `tidegauge branch` can change.
    past: Annotated[Path | None, typer.Option("--from", metavar="RUN")] = None
    #: The virtual time from which the runs differ from --from RUN.
    at: Annotated[str | None, typer.Option(metavar="TIME")] = None
    #: List the figures that runs of SCENARIO have, with unit and meaning, without running it.
    #: Without SCENARIO: all forms of figures.
    list_figures: Annotated[bool, typer.Option("--figures")] = False
    seed: shared.SeedOfAll = None
    #: Trace level of all runs.
    trace_level: str | None = None
    jobs: shared.Jobs = None
    address: shared.SharedAddress = None
    #: Folder for all runs. A folder with runs of this sweep is resumed. Default: a new folder
    #: runs/NAME-sweep.
    out: Annotated[Path | None, typer.Option(metavar="DIR")] = None
    #: Make the tables and the report of all runs as they are finished.
    analyze: bool = False
    #: Print sweep.json; all else goes to standard error.
    as_json: Annotated[bool, typer.Option("--json")] = False


class CompareOptions(NamedTuple):
    """Run a scenario with ZooKeeper and with KRaft, and compare the runs.

    Instead of modes, releases or the values of one field are compared. Brokers, topics and clients
    are the same in all variants. Fields that a mode or release does not have are left out, faults
    of its control plane become those with the same cause, and each such change is printed. A
    session timeout is not converted: the other mode has its own default.

    The table has the mean of each figure over the seeds, and the interval (95 %) of that mean. A
    variant is better or worse in a figure if the intervals do not meet. The text below the table
    names what decides, and the cases in which KRaft is not better.

    Runs are on actors of Ray, one for each CPU. Each has its own folder in DIR, as in a sweep, and
    the same command resumes. A converted scenario is a file in DIR, which can be run alone. The
    exit status is 1 if a run failed, or if one of its checks has another verdict than the scenario
    expects.

    \b
    Examples:
      tidegauge compare incidents/broker-crash --modes zookeeper,kraft
      tidegauge compare failover-budget --modes zookeeper,kraft --seeds 1..10 --out runs/failover
      tidegauge compare rolling-restart --releases 2.8,3.9,4.4 --seeds 1..5
      tidegauge compare incidents/broker-crash --set mode=kraft --set 'release="4.4"' \\
          --set controllers.settings.broker.session.timeout.ms=6000,9000,18000
      tidegauge report runs/failover
    """

    scenario: shared.ScenarioName
    #: Compare modes: zookeeper,kraft. The release is the scenario's if it names one that has the
    #: mode, else 3.9 with ZooKeeper and the newest one with KRaft.
    modes: Annotated[str | None, typer.Option(metavar="MODE,MODE")] = None
    #: Compare releases, each in the scenario's mode if it has that.
    releases: Annotated[str | None, typer.Option(metavar="RELEASE,RELEASE...")] = None
    #: Change a field of the scenario. One VALUE applies to all variants. Two to four values are
    #: compared.
    changes: Annotated[list[str] | None, typer.Option("--set", metavar="PATH=VALUE[,VALUE...]")] = (
        None
    )
    seeds: shared.Seeds = None
    seed: shared.SeedOfAll = None
    #: Trace level of all runs: with `all` requests to the control plane are counted.
    trace_level: str | None = None
    jobs: shared.Jobs = None
    address: shared.SharedAddress = None
    #: Folder for all runs. A folder with runs of this comparison is resumed. Default: a new folder
    #: runs/NAME-compare.
    out: Annotated[Path | None, typer.Option(metavar="DIR")] = None
    as_json: shared.AsJson = False


class AskOptions(NamedTuple):
    """Ask what a fault would do to a cluster: over twenty seeds, on one screen.

    The answer has the fault, then for records lost, time without responses and partitions that are
    offline or refuse writes the median, the worst seed, the number of seeds with any of it, and
    the figure of a run without the fault. The last line is the command that runs the worst seed
    again, for show, picture and report.

    FILE is a real cluster (tidegauge import), or any other scenario. All runs begin with all
    brokers up and with preferred leaders. Faults and steps of the file are left out. Producers are
    and consumers are added if it has none. Topics that refuse acks=all without any fault are left
    out, and named. Runs are on actors of Ray, one for each CPU; their scenario stays as a
    file in the new folder runs/FILE-QUESTION.

    QUESTION is free in case and order of its words; an unknown one is answered with the list. An
    outage lasts for 3 minutes by default, longer than delivery.timeout.ms. `upgrade` has the
    restarts of an upgrade, in the release of FILE or to another one; `tidegauge upgrade` compares
    releases.

    Questions about the voters of a KRaft quorum compare the plans of an operator: a line for each
    order of the commands has the share of time one failure from a stop, the time without a leader,
    and what a second failure does.

    The exit status is 1 if a run failed.

    \b
    Examples:
      tidegauge ask mine.yaml AZ loss
      tidegauge ask mine.yaml AZ loss of rack b for 10m
      tidegauge ask mine.yaml broker loss of brokers 2,5 for 5m
      tidegauge ask mine.yaml controller loss for 1m
      tidegauge ask mine.yaml quorum loss for 10m
      tidegauge ask mine.yaml rolling restart of rack a, 2 at a time
      tidegauge ask mine.yaml rolling restart with AZ loss of rack b
      tidegauge ask mine.yaml upgrade, 2 at a time
      tidegauge ask mine.yaml upgrade to 4.4
      tidegauge ask mine.yaml reassign topic orders to brokers 1,2,3
      tidegauge ask mine.yaml reassign topic orders to 1,2,3 throttle 10MB/s with 2GB a replica
      tidegauge ask mine.yaml slow disk on broker 2 delay 300ms for 5m
      tidegauge ask mine.yaml replace controller
      tidegauge ask mine.yaml replace controller disk
      tidegauge ask mine.yaml remove active controller
      tidegauge ask mine.yaml add controller by 500ms
      tidegauge ask mine.yaml replace controller --set controllers.count=5
      tidegauge ask mine.yaml rolling restart --seeds 50 --out runs/roll
      tidegauge ask mine.yaml AZ loss --set cluster.settings.min.insync.replicas=1
    """

    #: A scenario file, or the name of a shipped scenario.
    scenario: Annotated[str, typer.Argument(metavar="FILE")]
    #: A fault with its parameters, such as: AZ loss of rack b for 10m.
    question: Annotated[list[str], typer.Argument(metavar="QUESTION...")]
    #: Number of seeds, or the first and the last one.
    seeds: Annotated[str, typer.Option(metavar="N|A..B")] = "20"
    #: Change a field of the scenario; VALUE is YAML. Repeatable.
    changes: Annotated[list[str] | None, typer.Option("--set", metavar="PATH=VALUE")] = None
    costs: shared.CostsFile = None
    jobs: shared.Jobs = None
    #: Keep all runs in this folder, with sweep.json; the same command runs only missing ones.
    out: Annotated[Path | None, typer.Option(metavar="DIR")] = None
    as_json: shared.AsJson = False


class UpgradeOptions(NamedTuple):
    """Run a cluster and its upgrade under standard faults, and print what changes.

    The command answers what another release, or KRaft, would change. A broker is killed, some are
    restarted, the active controller and a rack are lost, each with three seeds. Where the mode
    stays, the upgrade itself is played, beside the same restarts without it. The answer fits on a
    screen: the way to that release, the oldest clients, the setting that keeps the time of a
    failover, the cluster's own settings that the release no longer has, and the figures that differ
    beyond their spread. --verbose prints all figures of each fault with their reasons, and all
    defaults and settings that change.

    SCENARIO is a real cluster (tidegauge import), or any other. Its own faults and steps are left
    out, and topics that refuse acks=all without any fault: all runs begin with all brokers up and
    with preferred leaders.

    \b
    Examples:
      tidegauge upgrade mine.yaml --to 4.4
      tidegauge upgrade mine.yaml --to 4.4 --properties 'server-*.properties'
      tidegauge upgrade mine.yaml --to 4.4 --seeds 1..5 --out runs/upgrade
    """

    scenario: shared.ScenarioName
    #: The release to compare with. From 4.0 on a release has KRaft only.
    target: Annotated[str, typer.Option("--to", metavar="RELEASE")]
    #: A broker's server.properties, a folder of such files, or a pattern in quotes; repeatable. For
    #: settings that a scenario does not take: passwords and keys, and addresses.
    properties: Annotated[list[Path] | None, typer.Option(metavar="FILE")] = None
    #: Run each fault with each of these seeds.
    seeds: Annotated[str, typer.Option(metavar="A..B")] = "1..3"
    jobs: shared.Jobs = None
    #: All figures of each fault, their reasons, and all settings that change.
    verbose: bool = False
    #: Folder for all runs, with one comparison for each fault. Default: a new folder
    #: runs/NAME-to-RELEASE.
    out: Annotated[Path | None, typer.Option(metavar="DIR")] = None


class AlertsOptions(NamedTuple):
    """Test unchanged alert rules on incidents in simulated time.

    Tidegauge runs each incident and scrapes it as Prometheus would. promtool evaluates the rules
    over these series, so `for` and `keep_firing_for` are Prometheus's own. The report begins with
    a matrix: each alert was firing, pending or silent in each incident, or its metrics do not exist
    in that mode or release. Then late rules, misfires and dead rules are listed; `--verbose` adds
    the delay and the duration of each alert, beside the expectations of the incident. Rules about
    parts that are not simulated (a JVM, for example) are listed but not judged. Rules with names
    that the exporter never makes are listed apart: they are dead on a cluster, too. A metric whose
    name is nearly that of an exported one is misspelt, which is an error.

    The exit status is 1 if an expectation failed or a metric is misspelt, and 2 if nothing was
    judged.

    Shipped incidents have expectations of the rules of well-known files, by their names; a rule of
    yours may have a longer `for`. A healthy day expects every rule to be silent. `--expect` adds
    expectations of your rules: RULE=fires (after the trouble begins) or RULE=silent, in each
    incident that is tried, or with @INCIDENT in one.

    \b
    Examples:
      tidegauge alerts --rules kafka-rules.yml
      tidegauge alerts --rules rules/*.yml --incidents broker-crash,rolling-restart
      tidegauge alerts --rules kafka-rules.yml --incidents my-incident.yaml
      tidegauge alerts --rules kafka-rules.yml --incidents broker-crash,rolling-restart \\
          --expect BrokerGone=fires --expect BrokerGone=silent@rolling-restart
      tidegauge alerts --rules kafka-rules.yml --json > alerts.json
      tidegauge alerts --rules kafka-rules.yml --incidents broker-crash --keep kept
                                 keep the input of promtool
    """

    #: File with Prometheus rules or PrometheusRule objects. Repeatable.
    rules: Annotated[list[Path], typer.Option(metavar="FILE")]
    #: More rule files: --rules rules/*.yml
    more_rules: Annotated[list[Path] | None, typer.Argument(metavar="FILE")] = None
    #: Shipped incidents (tidegauge scenarios lists them), or scenario files with a section
    #: `alerts`. Repeatable. Default: all shipped incidents.
    incidents: Annotated[list[str] | None, typer.Option(metavar="all|NAME[,NAME...]")] = None
    #: An expectation of a rule, instead of those of the incidents. Repeatable.
    expect: Annotated[list[str] | None, typer.Option(metavar="RULE=fires|silent[@INCIDENT]")] = None
    #: Names of Kafka's metrics, as for `tidegauge run`. Default: recognised from the rules.
    metrics_spelling: Annotated[str | None, typer.Option(metavar="NAME|FILE")] = None
    #: Path of promtool. Default: the promtool on the PATH.
    promtool: Annotated[str | None, typer.Option(metavar="PATH")] = None
    #: Interval between scrapes, in virtual time.
    scrape_interval: Annotated[str, typer.Option(metavar="DURATION")] = "15s"
    #: Interval of all rule groups.
    evaluation_interval: Annotated[str, typer.Option(metavar="DURATION")] = "15s"
    jobs: shared.Jobs = None
    #: Keep the series of each incident as a promtool test, and promtool's output.
    keep: Annotated[Path | None, typer.Option(metavar="DIR")] = None
    #: Print the times of each alert in each incident, too.
    verbose: Annotated[bool, typer.Option("--verbose", "-v")] = False
    as_json: shared.AsJson = False

    def look_first(self) -> None:
        """Read the files of rules: an error in them need not wait until the engine is imported."""
        from tidegauge.rehearsal.alerts import read_rule_file  # noqa: PLC0415
        from tidegauge.scenario.shipped import INCIDENTS  # noqa: PLC0415

        for path in (*self.rules, *(self.more_rules or ())):
            if path.exists() or not (INCIDENTS / f"{path}.yaml").exists():
                read_rule_file(path)


class DashboardsOptions(NamedTuple):
    """Write Grafana's dashboard, alert rules and Prometheus's configuration; check dashboards.

    The files are for a run that serves metrics (`tidegauge run SCENARIO --metrics 9404`). The
    file COVERAGE.md beside them has the meaning of each metric, and the panels of other
    dashboards that stay empty.

    With `--check` nothing is written: the metrics of each panel of your dashboards are listed, by
    whether they are simulated, are misspelt, or have a name that the exporter never makes. The
    exit status is 1 if a panel has a name of the last two kinds.

    \b
    Examples:
      tidegauge dashboards watching
      tidegauge dashboards watching --port 9504
      prometheus --config.file=watching/prometheus/prometheus.yml
      tidegauge dashboards --check kafka-overview.json
    """

    #: Folder for the files; new or empty.
    folder: Annotated[Path | None, typer.Argument(metavar="DIR")] = None
    #: Port at which the run serves metrics.
    port: Annotated[int, typer.Option(metavar="PORT", min=1, max=65_535)] = 9404
    #: File with a dashboard, as Grafana exports it. Repeatable.
    check: Annotated[list[Path] | None, typer.Option(metavar="FILE")] = None
    #: Names of Kafka's metrics in the checked dashboards, as for `tidegauge run`. Default:
    #: recognised from the dashboards.
    metrics_spelling: Annotated[str | None, typer.Option(metavar="NAME|FILE")] = None
    #: Print JSON about the checked dashboards.
    as_json: shared.AsJson = False


class CompileOptions(NamedTuple):
    """Compile the rules into the cache.

    The rules of Kafka are compiled to machine code once for each version of their sources.
    A run compiles them if they are not cached; this command compiles them now. The cache is
    ~/.cache/tidegauge, or the folder in TIDEGAUGE_CACHE_DIR.
    """
