"""Linked lists of records, and loops through them.

A :class:`LinkedList` is declared once: the table of its records, the field of a record that names
the next one, and the fields of a list's *head* that name its first and its last. A place below 0 is
none. ``for place in LOGS.of(world, broker)`` goes through the places of one; :func:`goes_through`
makes a loop through the records themselves, as a class that the caller names. A :class:`Pool` is a
table whose records are used again.

The next place is read before the body of the loop runs, so the body may take out its record.
Compiled, a loop is as fast as a ``while`` over the fields.
"""

from collections.abc import Callable, Iterator
from typing import Any, TypeVar, cast

from numba import types
from numba.core import cgutils
from numba.core.imputils import RefType, iternext_impl, lower_constant
from numba.core.typing.templates import AttributeTemplate
from numba.extending import (
    infer_getattr,
    lower_builtin,
    lower_getattr_generic,
    models,
    register_jitable,
    register_model,
    type_callable,
    typeof_impl,
)

from tidegauge.compiled.inner_code import InlinedCompiler
from tidegauge.compiled.record_views import RecordClassType, member_of
from tidegauge.compiled.records import Record, i64, lengthened
from tidegauge.compiled.signatures import address_of_table

Function = TypeVar("Function", bound=Callable[..., Any])


class _Cursor(types.IteratorType):  # type: ignore[misc]  # Numba has no types
    """The Numba type of a loop through records of a table: where it is."""

    def __init__(self, table: Any, following: str, yielded: Any) -> None:
        self.table, self.following, self.yielded = table, following, yielded
        super().__init__(name=f"cursor of {following} in {table}, giving {yielded}")

    @property
    def yield_type(self) -> Any:
        """A place, or a record."""
        return self.yielded

    @property
    def iterator_type(self) -> Any:
        """A loop is made over it itself."""
        return self


@register_model(_Cursor)
class _CursorModel(models.StructModel):  # type: ignore[misc]
    def __init__(self, manager: Any, cursor: Any) -> None:
        place = types.EphemeralPointer(types.int64)
        super().__init__(manager, cursor, [("place", place), ("records", types.voidptr)])


@lower_builtin("getiter", _Cursor)  # type: ignore[untyped-decorator]
def _start(_context: Any, _builder: Any, _signature: Any, arguments: Any) -> Any:
    return arguments[0]


@lower_builtin("iternext", _Cursor)  # type: ignore[untyped-decorator]
@iternext_impl(RefType.UNTRACKED)  # type: ignore[untyped-decorator]
def _advance(context: Any, builder: Any, signature: Any, arguments: Any, result: Any) -> None:
    (loop,) = signature.args
    cursor = context.make_helper(builder, loop, arguments[0])
    place = builder.load(cursor.place)
    is_there = builder.icmp_signed(">=", place, place.type(0))
    result.set_valid(is_there)
    with builder.if_then(is_there):
        record_type = loop.table.dtype
        stride = place.type(record_type.size)
        at = builder.gep(cursor.records, [builder.mul(place, stride)])
        record = builder.bitcast(at, context.get_value_type(record_type))
        following, number = member_of(context, builder, record, record_type, loop.following)
        after = context.unpack_value(builder, number, following)
        builder.store(context.cast(builder, after, number, types.int64), cursor.place)
        if loop.yielded is types.int64:
            result.yield_(place)
        else:
            result.yield_(builder.bitcast(record, context.get_value_type(loop.yielded)))


def goes_through(table: str, first: str, following: str) -> Callable[[Function], Function]:
    """Have compiled code loop through a list as a generator does.

    The generator takes tables, the head of a list and, if it yields records, their class; else it
    yields places.
    """

    def register(function: Function) -> Function:
        @type_callable(function)  # type: ignore[untyped-decorator]
        def _typed(context: Any) -> Any:
            def typer(world: Any, _head: Any, kind: Any = None) -> Any:
                records = context.resolve_getattr(world, table)
                return _Cursor(records, following, types.int64 if kind is None else kind.record)

            return typer

        def lowered(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            world, head, *_ = signature.args
            records = context.get_getattr(world, table)(
                context, builder, world, arguments[0], table
            )
            number = context.typing_context.resolve_getattr(head, first)
            place = context.get_getattr(head, first)(context, builder, head, arguments[1], first)
            place = context.cast(builder, place, number, types.int64)
            cursor = context.make_helper(builder, signature.return_type)
            cursor.place = cgutils.alloca_once_value(builder, place)
            cursor.records = address_of_table(builder, records)
            return cursor._getvalue()  # noqa: SLF001 - how Numba's own iterators are made

        for behind in ((), (RecordClassType,)):
            lower_builtin(function, types.Any, types.Record, *behind)(lowered)
        return function

    return register


class LinkedList:
    """Lists of records of one table.

    Args:
        table: the table of the records.
        following: the field of a record that has the place of the next one.
        first: the field of a list's head that has the place of its first record.
        last: the field of the head that has the place of the last one; None: nothing is appended.
        previous: the field of a record that has the place of the one before; None: to remove a
            record is to look for it.
    """

    def __init__(
        self,
        table: str,
        following: str,
        first: str,
        last: str | None = None,
        previous: str | None = None,
    ) -> None:
        self.table, self.following, self.first = table, following, first
        self.last, self.previous = last, previous

        @goes_through(table, first, following)
        def places(world: Any, head: Record) -> Iterator[int]:
            place = getattr(head, first)
            while place >= 0:
                here = place
                place = getattr(getattr(world, table)[here], following)
                yield here

        #: The places of the records of a list: of tables, and its head.
        self.of: Callable[[Any, Record], Iterator[int]] = places
        #: Put the record at a place, which is in no list, behind the others of one.
        self.append: Callable[[Any, Record, int], None] = self._made("append")
        #: ... or behind the one at another place; below 0: before all others.
        self.insert: Callable[[Any, Record, int, int], None] = self._made("insert")
        #: Take the record at a place out of its list; one without links back may be in none.
        self.remove: Callable[[Any, Record, int], None] = self._made(
            "remove" if previous is None else "remove_known"
        )
        #: Take the first record out of a list that has one; its place.
        self.take_first: Callable[[Any, Record], int] = self._made("take_first")

    def _made(self, name: str) -> Callable[..., Any]:
        """An operation, as a part of the rules that call it."""
        fields = {"records": f"world.{self.table}", "next": self.following, "first": self.first}
        lines = []
        for line in _OPERATIONS[name].strip().splitlines():
            code, _, condition = line.partition("  # ")
            if all(getattr(self, each) is not None for each in condition.split()):
                lines.append(code.format(**fields, last=self.last, previous=self.previous))
        made: dict[str, Any] = {}
        exec("\n".join(lines), made)  # noqa: S102 - code from below
        # Its code goes into its callers: to make machine code of it as well took 2 of 66 s, in each
        # process that compiles.
        inlined = register_jitable(inline="always", pipeline_class=InlinedCompiler)
        return cast("Callable[..., Any]", inlined(made[name]))


class Slots(Record):
    """The records of a pool that are free: the head of the list of those that were given back."""

    first_free: i64 = -1
    #: Records from this place on were never used, and their memory never touched.
    used: i64
    #: The number of free ones: given back, or never used.
    free: i64


#: Records that are free beside those that are asked for, when a pool is enlarged.
_MARGIN = 1024


class Pool(LinkedList):
    """A table whose records are taken and given back; what it keeps free takes no memory.

    Those that were given back last are taken first.

    Args:
        table: the table of the records.
        following: the field of a record that names the next one of those that are free.
    """

    def __init__(self, table: str, following: str) -> None:
        super().__init__(table, following, "first_free")
        #: Take a free record, which there is; its place. Its content is anything.
        self.take: Callable[[Any, Slots], int] = self._made("take")
        #: Give back the record at a place, which is in no list.
        self.give_back: Callable[[Any, Slots, int], None] = self._made("give_back")
        #: ... or a whole list: the places of its first and its last record, and their number.
        self.give_back_list: Callable[[Any, Slots, int, int, int], None] = self._made(
            "give_back_list"
        )

    def enlarge(self, world: Any, slots: Slots, free: int) -> None:
        """Exchange the table for a larger one, if fewer records than ``free`` are free."""
        if slots.free >= free:
            return
        records = getattr(world, self.table)
        count = 2 * int(slots.used) + free + _MARGIN
        setattr(world, self.table, lengthened(records, int(slots.used), count))
        slots.free += count - len(records)


#: Lines with a comment are those of lists that have these fields.
_OPERATIONS = {
    "append": """
def append(world, head, place):
    {records}[place].{next} = -1
    {records}[place].{previous} = head.{last}  # previous last
    if head.{last} < 0:  # last
        head.{first} = place  # last
    else:  # last
        {records}[head.{last}].{next} = place  # last
    head.{last} = place  # last
""",
    "insert": """
def insert(world, head, before, place):
    after = head.{first} if before < 0 else {records}[before].{next}
    {records}[place].{next} = after
    {records}[place].{previous} = before  # previous
    if before < 0:
        head.{first} = place
    else:
        {records}[before].{next} = place
    if after >= 0:  # previous
        {records}[after].{previous} = place  # previous
    if after < 0:  # last
        head.{last} = place  # last
""",
    "remove": """
def remove(world, head, place):
    before = -1
    here = head.{first}
    while here >= 0 and here != place:
        before = here
        here = {records}[here].{next}
    if here < 0:
        return
    after = {records}[place].{next}
    if before < 0:
        head.{first} = after
    else:
        {records}[before].{next} = after
    if after < 0:  # last
        head.{last} = before  # last
    {records}[place].{next} = -1
""",
    "remove_known": """
def remove_known(world, head, place):
    before = {records}[place].{previous}
    after = {records}[place].{next}
    if before < 0:
        head.{first} = after
    else:
        {records}[before].{next} = after
    if after >= 0:
        {records}[after].{previous} = before
    else:  # last
        head.{last} = before  # last
    {records}[place].{next} = -1
    {records}[place].{previous} = -1
""",
    "take_first": """
def take_first(world, head):
    place = head.{first}
    after = {records}[place].{next}
    head.{first} = after
    if after < 0:  # last
        head.{last} = -1  # last
    if after >= 0:  # previous
        {records}[after].{previous} = -1  # previous
    {records}[place].{next} = -1
    return place
""",
    "take": """
def take(world, slots):
    slots.free -= 1
    place = slots.first_free
    if place < 0:
        place = slots.used
        slots.used += 1
    else:
        slots.first_free = {records}[place].{next}
    {records}[place].{next} = -1
    return place
""",
    "give_back": """
def give_back(world, slots, place):
    {records}[place].{next} = slots.first_free
    slots.first_free = place
    slots.free += 1
""",
    "give_back_list": """
def give_back_list(world, slots, first, last, count):
    {records}[last].{next} = slots.first_free
    slots.first_free = first
    slots.free += count
""",
}


class _ListType(types.Dummy):  # type: ignore[misc]
    """The Numba type of a declared list: a constant."""

    def __init__(self, declared: LinkedList) -> None:
        self.declared = declared
        super().__init__(name=f"list of {declared.table} by {declared.following}, {declared.first}")


@register_model(_ListType)
class _ListModel(models.OpaqueModel):  # type: ignore[misc]
    """Nothing: all is known when code is compiled."""


@typeof_impl.register(LinkedList)  # type: ignore[untyped-decorator]
def _typeof(declared: LinkedList, _context: Any) -> _ListType:
    return _ListType(declared)


@lower_constant(_ListType)  # type: ignore[untyped-decorator]
def _constant(context: Any, _builder: Any, _type: Any, _value: Any) -> Any:
    return context.get_dummy_value()


@infer_getattr
class _ListAttribute(AttributeTemplate):  # type: ignore[misc]
    key = _ListType

    def generic_resolve(self, of: _ListType, name: str) -> Any:
        return self.context.resolve_value_type(cast("Any", getattr(of.declared, name)))


@lower_getattr_generic(_ListType)  # type: ignore[untyped-decorator]
def _function_of(context: Any, _builder: Any, _list: Any, _value: Any, _name: str) -> Any:
    return context.get_dummy_value()
