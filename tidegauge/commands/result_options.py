"""The options of commands about results: reports, tables, real logs, two runs, repetitions."""

from pathlib import Path
from typing import Annotated, NamedTuple

import typer

from tidegauge.commands import shared_options as shared


class ReportOptions(NamedTuple):
    """Write a report of recorded runs: one HTML file, which opens in any browser.

    The report has the result in words and five sections: what clients saw, what failed and why, the
    worst partition, the faults, and what it depends on. Further questions, charts and a replay are
    folded behind their answers. The report of several runs compares their settings, and names the
    command for the report of the worst run. It loads nothing from a network, so it can be sent to a
    colleague.

    The result tables are made in this process, without Spark, and kept in tables/. Tables that
    are there already are used. An unfinished run is read up to its last row. `analyze` makes
    the same report and all tables, with Spark where that pays.

    \b
    Examples:
      tidegauge report runs/first
      tidegauge report runs/first --out for-a-colleague
      tidegauge report runs/lag-time
                                 all runs in a sweep's folder
      tidegauge report 'runs/*' --out analysis
    """

    runs: shared.RunNames
    #: Folder for report.html and tables/. Default: the folder of the run or of the sweep; analysis/
    #: for several runs.
    out: Annotated[Path | None, typer.Option(metavar="DIR")] = None


class ReplayViewOptions(NamedTuple):
    """Write the replay of a run: one HTML file that a browser plays without a network.

    A slider moves over the run's time. Racks, brokers and partitions are shown as they were at that
    moment: leader, ISR, offline, under min ISR. Faults are above the slider. A click on a replica
    shows the story of its partition. The state is that of `tidegauge describe RUN --at TIME`.

    The fragment of the address opens a moment and a partition:
    replay.html#t=12.5&partition=orders-3

    \b
    Examples:
      tidegauge replay-view runs/rack-outage
      tidegauge replay-view runs/rack-outage --out rack-outage.html
    """

    run: shared.RunPath
    #: File to write. Default: RUN/replay.html.
    out: Annotated[Path | None, typer.Option(metavar="FILE")] = None


class AnalyzeOptions(NamedTuple):
    """Make result tables and a report of recorded runs, and print their figures.

    Tables are Parquet, a folder for each, with the rows of all runs. They have intervals of ISRs,
    leaders, offline partitions and partitions under min ISR; elections with the time of each step;
    notifications; truncations; acknowledged records; lost records with their cause; faults.
    TABLES.md in analysis/ describes their columns. An unfinished run is read up to its last row.

    DuckDB makes them in this process, and Spark where the largest run does not fit into memory; the
    choice is printed with its reason. Spark runs on this machine with its Java (17 or later). Under
    spark-submit it uses the cluster of that session.

    With --rows, tables are made of rows that `tidegauge export` has written, instead of traces.
    Both give the same tables. DIR must have rows of the present trace of every run.

    \b
    Examples:
      tidegauge analyze runs/first
      tidegauge analyze 'runs/*' --out analysis
      tidegauge analyze 'runs/*' --out analysis --engine spark
      tidegauge analyze 'runs/*' --out analysis --rows rows
                                 after tidegauge export 'runs/*' --to rows
      tidegauge analyze runs/first --table elections --table lost
      tidegauge analyze --questions
      tidegauge analyze runs/first --question failover-budget
      tidegauge analyze runs/lag-time --question sweep --json
                                 all runs in a sweep's folder
      tidegauge analyze runs/first runs/second --question first-divergence
    """

    #: Folders of runs or of sweeps, or 'runs/*'.
    runs: Annotated[list[str] | None, typer.Argument(metavar="RUN")] = None
    #: Folder for tables/ and report.html. Default: the folder of the run or of the sweep; analysis/
    #: for several runs.
    out: Annotated[Path | None, typer.Option(metavar="DIR")] = None
    #: Read rows that `tidegauge export --to DIR` has written, in place of traces.
    rows: Annotated[Path | None, typer.Option(metavar="DIR")] = None
    #: Make only this table. Repeatable. Default: all.
    tables: Annotated[list[str] | None, typer.Option("--table", metavar="NAME")] = None
    #: Answer this question from the tables that it needs. Repeatable.
    questions: Annotated[list[str] | None, typer.Option("--question", metavar="NAME")] = None
    #: List all questions.
    list_questions: Annotated[bool, typer.Option("--questions")] = False
    #: duckdb or spark. Default: the one that suits these runs.
    engine: Annotated[str | None, typer.Option(metavar="NAME")] = None
    #: Number of cores for Spark. Default: all.
    cores: Annotated[int | None, typer.Option(min=1)] = None
    #: Print the figures or the answers; all else goes to standard error.
    as_json: Annotated[bool, typer.Option("--json")] = False


class SqlOptions(NamedTuple):
    """Print the rows that a query finds in the result tables of a run, or of all runs of a sweep.

    The SQL is one statement of DuckDB. `show tables` lists the tables, `describe TABLE` the columns
    of one with units and meanings, and `tidegauge docs tables` prints both. Tables are made as a
    query needs them, and kept in the folder of the run, with --with in analysis/. The column `run`
    tells runs apart. `copy (select ...) to 'FILE.parquet'` writes a file; .csv and .json work, too.
    `read_parquet`, `read_csv` and `read_json` read other files, such as samples of Prometheus.

    Rows that are wider than the terminal have a line for each column.

    \b
    Examples:
      tidegauge sql runs/first "show tables"
      tidegauge sql runs/first "describe isr_changes"
      tidegauge sql runs/first "select * from fault_costs"
      tidegauge sql runs/first "select change, count(*) as changes from isr_changes group by all"
      tidegauge sql runs/first "select * from elections" --csv > elections.csv
      tidegauge sql runs/first "copy (from elections) to 'elections.parquet'"
      tidegauge sql runs/sweep "select run, count(*) as elections from elections group by run"
      tidegauge sql runs/sweep --with runs/real-logs "select run, leader_elections from run_figures"
    """

    run: shared.RunPath
    #: SQL of DuckDB.
    query: Annotated[str, typer.Argument(metavar="SQL")]
    #: Another run or sweep, whose rows are in the same tables. Repeatable.
    others: Annotated[list[str] | None, typer.Option("--with", metavar="RUN")] = None
    #: Print all rows as CSV.
    as_csv: Annotated[bool, typer.Option("--csv")] = False
    as_json: shared.AsJson = False


class ExportOptions(NamedTuple):
    """Write the rows of runs as Parquet, for DuckDB, Polars, pandas, Spark and every other tool.

    DIR has a folder for each kind of row, and for the objects behind the numbers: brokers,
    partitions, faults and others. Files have the rows of whole runs, with the column `run`. Numbers
    are as in the trace, with their names and ids in columns beside them. DIR/ROWS.md describes all
    columns with units and meanings, and so does the metadata of each file. DIR/rows.json lists the
    runs.

    Exporting again adds the runs that are new. A run whose trace has changed is written anew. An
    unfinished run is exported up to its last row.

    \b
    Examples:
      tidegauge export runs/first --to rows
      tidegauge export runs/lag-time 'runs/first*' --to rows
                                 all runs in a sweep's folder, and others
      tidegauge export runs/first --to isr --kind isr_shrunk --kind isr_expanded
    """

    runs: shared.RunNames
    #: Folder of the rows: a new one, or that of an earlier export.
    to: Annotated[Path, typer.Option(metavar="DIR")]
    #: Write only rows of this kind; `causes` are the origins of rows. Repeatable. Default: all, or
    #: those that DIR has.
    kinds: Annotated[list[str] | None, typer.Option("--kind", metavar="NAME")] = None
    #: Number of parallel processes. Default: the number of CPUs.
    jobs: Annotated[int | None, typer.Option(metavar="J")] = None
    as_json: shared.AsJson = False


class ReadLogsOptions(NamedTuple):
    """Turn the logs of a real cluster into a run.

    The command reads server.log, controller.log and state-change.log of each node, with their
    rotated and compressed files, or logs of containers. Brokers 2.x with ZooKeeper to 4.x with
    KRaft are known. The layout of each file is found in its lines: Kafka's own, others of log4j
    and Logback, JSON, and lines behind the prefixes of Compose, kubectl, stern and journalctl.
    Nodes are identified by their lines, or by names: broker-1/server.log, broker-2.log.

    The run has the states of partitions, ISR changes, elections, the lives of brokers, and the
    controllers. show, picture, describe, report, analyze and compare-runs take it like a simulated
    run. Figures that logs do not give, such as acknowledged records, are absent in it. The offset
    of each node's clock is estimated, and times are corrected by it.

    --from, --to and --around take wall-clock times: 2026-11-22T23:56:48, or 23:56 if the logs have
    one day; UTC, unless they end with a zone, such as +02:00. The run then begins with the states
    of before. Logs of more than a day give their last day with events, unless one of these is
    named.

    --scenario proposes brokers, topics, faults and steps that would leave such logs. run plays
    them, and compare-runs puts both runs side by side. Deaths are dated by lost connections, or by
    timeouts that the nodes print, or that are in server.properties.

    \b
    Examples:
      tidegauge read-logs /var/log/kafka-cluster -o runs/outage
      tidegauge read-logs logs -o runs/outage --json
      tidegauge read-logs logs -o runs/outage --from 23:50 --to 00:30
      tidegauge read-logs logs -o runs/outage --around 2026-11-22T23:56:48 --within 5m
      tidegauge read-logs logs -o runs/outage --scenario outage.yaml
      tidegauge show partition runs/outage orders-0
      tidegauge describe runs/outage --at 90s
      tidegauge describe runs/outage --at 23:58:18
    """

    #: A folder with the logs of all nodes, in folders or side by side, or a single file.
    folder: Annotated[Path, typer.Argument(metavar="DIR")]
    #: The folder of the run to write.
    out: Annotated[Path, typer.Option("--out", "-o", metavar="RUN")]
    #: Begin of the run, by the wall clock.
    begin: Annotated[str | None, typer.Option("--from", metavar="TIME")] = None
    #: End of the run, by the wall clock.
    end: Annotated[str | None, typer.Option("--to", metavar="TIME")] = None
    #: Middle of the run, by the wall clock, instead of --from and --to.
    around: Annotated[str | None, typer.Option(metavar="TIME")] = None
    #: With --around: the time before and after it. Default: 10m.
    within: Annotated[str | None, typer.Option(metavar="TIME")] = None
    #: Also propose the scenario that would leave such logs: topology, faults, steps and times, with
    #: the evidence of each. A file that does not exist yet.
    scenario: Annotated[Path | None, typer.Option(metavar="FILE")] = None
    #: With --scenario: server.properties of a node, or a folder of such files; repeatable. Default:
    #: those below DIR.
    properties: Annotated[list[Path] | None, typer.Option(metavar="FILE")] = None
    #: Print the result as JSON, on standard output.
    as_json: Annotated[bool, typer.Option("--json")] = False


class CompareRunsOptions(NamedTuple):
    """Put two runs side by side: real or simulated ones.

    A real run is made by `tidegauge read-logs`. The output has elections, ISR changes, times
    without a leader, brokers, controllers, and the partitions that went through other leaders and
    ISRs, with the first state that differs. A figure that logs do not give is "not in the logs".
    The exit status is 0.

    \b
    Examples:
      tidegauge compare-runs runs/real runs/proposed
      tidegauge compare-runs runs/real runs/proposed --shift 12s --json
    """

    #: The folder of the first run.
    one: Annotated[Path, typer.Argument(metavar="RUN")]
    #: The folder of the second run.
    other: Annotated[Path, typer.Argument(metavar="RUN")]
    #: The time that is added to times of the second run, such as 12s or -3.5s. Default: by the
    #: first changes that both have.
    shift: Annotated[str | None, typer.Option(metavar="TIME")] = None
    as_json: shared.AsJson = False


class ReplayOptions(NamedTuple):
    """Repeat a run from its manifest, and compare both runs.

    The same scenario and seed give the same rows and the same trace_sha256, however the processes
    are hosted. If the runs differ, the command prints the first different row, in order of time.

    A run that ended early is compared up to its last row.

    The exit status is 0 if the runs are equal, and 1 if they differ. It is 2 if RUN is not a run,
    its trace is damaged, or this release cannot run its scenario.

    \b
    Examples:
      tidegauge replay runs/first
      tidegauge replay runs/first --actors 2
      tidegauge replay runs/first --out runs/again
                                 keep the new run, for tidegauge show
    """

    run: shared.RunPath
    #: Run in this interpreter, without Ray. The default.
    inline: bool = False
    #: Run in actors of Ray.
    ray: bool = False
    #: Number of Ray actors.
    actors: Annotated[int | None, typer.Option(min=1)] = None
    #: Keep the new run in this folder; new or empty.
    out: Annotated[Path | None, typer.Option(metavar="DIR")] = None


class VerifyOptions(NamedTuple):
    """Check the trace of a run against its summary.

    The command computes the hash of each process from the canonical rows of the trace files, and
    compares it with the hash in the summary. It detects any row that was lost, added or changed.

    The exit status is 0 if the hashes are equal. It is 1 if they differ or the run is unfinished,
    and 2 if RUN is not a run.

    \b
    Examples:
      tidegauge verify runs/rack-outage
      tidegauge verify runs/rack-outage --json
    """

    run: shared.RunPath
    #: Print the result as JSON, on standard output.
    as_json: Annotated[bool, typer.Option("--json")] = False
