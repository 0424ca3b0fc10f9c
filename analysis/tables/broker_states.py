"""The state of every broker over time: its process, and its registration."""

# ruff: noqa: S608 - queries are put together from texts of this room

from tidegauge.analysis.tables import result_table
from tidegauge.analysis.tables.dialect import FROM_THE_BEGINNING, IN_ORDER, merged, overlaid, tiled

_KEYS = ("run", "broker")

_LIVES = result_table.View(
    "lives",
    tiled(
        f"""(
        select run, broker, 'down' as process_state, {FROM_THE_BEGINNING} from brokers
        union all
        select run, process, 'loading', {IN_ORDER} from broker_loading
        union all
        select run, process, 'up', {IN_ORDER} from broker_started
        union all
        select run, process, 'down', {IN_ORDER} from broker_stopped
        )""",
        _KEYS,
        ("process_state",),
    ),
)

_STATES = result_table.View(
    "lives_and_registrations",
    f"""
    with paused_lives as ({overlaid("lives", "pauses", _KEYS, ("process_state",), ("paused",))})
    {overlaid("paused_lives", "registrations", _KEYS, ("process_state", "paused"), ("registered",))}
    """,
    key=("run", "broker", "begin_us"),
)

VIEWS = (_LIVES, _STATES)

BROKER_STATES = result_table.ResultTable(
    "broker_states",
    "one state of a broker; its states cover the whole run without gaps",
    (
        result_table.RUN,
        *result_table.INTERVAL,
        result_table.Column("broker", "bigint", "broker id", "the broker"),
        result_table.Column("process_state", "string", "", "`down`, `loading` its logs, or `up`"),
        result_table.Column("paused", "boolean", "", "a fault pauses its process"),
        result_table.Column("registered", "boolean", "", "the control plane has it"),
    ),
    f"""
    select s.run, b.broker_id as broker, begin_us, end_us, process_state, paused, s.registered
    from ({
        merged("lives_and_registrations", _KEYS, ("process_state", "paused", "registered"))
    }) as s
    join brokers as b on b.run = s.run and b.broker = s.broker
    """,
    key=("run", "broker", "begin_us"),
)
