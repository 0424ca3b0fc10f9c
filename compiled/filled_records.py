"""Functions that fill a free record: an event, a row, an entry, by keywords.

A rule takes a free record of a table. :func:`made_by` makes a function of it that takes a class,
too: it returns the record as one of the class, with the values of its keywords, and with the fields
of the same name of other records. Compiled, only the stores are left of it.
"""

import inspect
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, TypeVar, cast

from numba import types
from numba.core import typing
from numba.core.errors import TypingError
from numba.core.typing.templates import AbstractTemplate, infer_global
from numba.extending import lower_builtin, lower_cast, models, register_model

from tidegauge.compiled.record_views import RecordClassType, member_of, set_body
from tidegauge.compiled.records import R, Record, RecordMethod, blank, body_of, dtype_of, nested_in

Function = TypeVar("Function", bound=Callable[..., Any])


def filled(
    record: Record,
    record_class: type[R],
    sources: Sequence[Record],
    named: Mapping[str, int],
    complete: bool = False,
) -> R:
    """The record as one of another class, with the fields behind the head set.

    Args:
        record: a free record.
        record_class: its class from now on.
        sources: records that give it the fields that they have under the same name.
        named: values of fields, which precede those of the sources.
        complete: no field keeps its default.

    Raises:
        TypeError: the class has no such field, a field is left out, or two sources have it.
    """
    layouts = [cast("Any", each).dtype.names for each in sources]
    copied = _copied_fields(record_class, layouts, named, complete)
    seen = blank(record, record_class)
    for name, place in copied.items():
        setattr(seen, name, getattr(sources[place], name))
    for name, value in named.items():
        setattr(seen, name, value)
    return seen


def _copied_fields(
    record_class: type[Record],
    sources: Sequence[Collection[str]],
    named: Collection[str],
    complete: bool,
) -> dict[str, int]:
    """The fields behind the head that sources give, each with the place of its source.

    Raises:
        TypeError: as :func:`filled`.
    """
    layout = cast("Any", dtype_of(record_class).names)
    if unknown := [each for each in named if each not in layout]:
        raise TypeError(f"{record_class.__name__} has no {', '.join(unknown)}")
    copied = {
        name: [place for place, names in enumerate(sources) if name in names]
        for name in body_of(record_class)
        if name not in named and nested_in(record_class, name) is None
    }
    unclear = [name for name, places in copied.items() if len(places) > 1]
    left_out = [name for name, places in copied.items() if not places]
    if unclear or (complete and left_out):
        raise TypeError(f"{record_class.__name__}: give {', '.join(unclear or left_out)}")
    return {name: places[0] for name, places in copied.items() if places}


def made_by(
    maker: Callable[..., Any],
    then: Callable[..., Any] | None = None,
    complete: bool = False,
    method: RecordMethod | None = None,
) -> Callable[[Function], Function]:
    """Have compiled code call ``maker``, a rule, with the ``KIND`` of the class that is asked for.

    The function takes the arguments of ``maker``, the class, sources and named fields as
    :func:`filled` has them. Its body does the same in plain Python.

    Args:
        maker: takes a free record.
        then: takes the first argument, the filled record and the arguments behind the class.
        complete: to leave out a field is an error when the caller is compiled.
        method: the function is this method of classes: it takes the class first, then the tables.
    """

    def decorate(function: Function) -> Function:
        def generic(self: Any, arguments: Any, keywords: Any) -> Any:
            call = _Making(arguments if method is None else (self.this, *arguments), keywords)
            call.copied(complete)
            _call_of(self.context, maker, call.for_maker)
            if then is not None:
                _call_of(self.context, then, call.for_then)
            named = [_Named(*each) for each in keywords.items()]
            names = [f"_{place}" for place in range(len(arguments))] + list(keywords)
            parameters = [inspect.Parameter(each, _BY_NAME) for each in names]
            return typing.signature(call.record, *arguments, *named).replace(
                pysig=inspect.Signature(parameters), recvr=getattr(self, "this", None)
            )

        name = function.__name__
        template = type(name, (AbstractTemplate,), {"key": function, "generic": generic})
        if method is None:
            infer_global(function, types.Function(template))
        else:
            method.function, method.template = function, template

        @lower_builtin(function, types.VarArg(types.Any))  # type: ignore[untyped-decorator]
        def _lowered(context: Any, builder: Any, signature: Any, values: Any) -> Any:
            named = {each.field: each.value for each in signature.args if isinstance(each, _Named)}
            call = _Making(signature.args[: len(values) - len(named)], named)
            kind = context.get_constant(types.int64, int(call.record_class.KIND))
            before = [values[place] for place in call.before]
            free = _called(context, builder, maker, call.for_maker, [*before, kind])
            seen = call.fill(context, builder, free, values, complete)
            if then is not None:
                behind = [before[0], seen, *(values[place] for place in call.behind)]
                _called(context, builder, then, call.for_then, behind)
            return seen

        return function

    return decorate


class _Named(types.Type):  # type: ignore[misc]  # Numba has no types
    """The Numba type of a keyword's value: lowered code gets its arguments by types alone."""

    def __init__(self, field: str, value: Any) -> None:
        self.field, self.value = field, value
        super().__init__(name=f"{field}: {value}")


@register_model(_Named)
class _NamedModel(models.PrimitiveModel):  # type: ignore[misc]
    def __init__(self, manager: Any, named: _Named) -> None:
        super().__init__(manager, named, manager.lookup(named.value).get_value_type())


@lower_cast(types.Any, _Named)  # type: ignore[untyped-decorator]
def _as_named(context: Any, builder: Any, given: Any, named: Any, value: Any) -> Any:
    return context.cast(builder, value, given, named.value)


class _Making:
    """A call of a function that :func:`made_by` has made: the Numba types of its arguments."""

    def __init__(self, arguments: Sequence[Any], named: Mapping[str, Any]) -> None:
        place = [isinstance(each, RecordClassType) for each in arguments].index(True)
        #: Places of the arguments for the maker, of sources, and of others behind the class.
        self.before = list(range(place)) or [1]
        behind = range(max(place + 1, 2), len(arguments))
        self.sources = [each for each in behind if isinstance(arguments[each], types.Record)]
        self.behind = [each for each in behind if each not in self.sources]
        self.arguments, self.named = arguments, named
        self.record_class, self.record = arguments[place].record_class, arguments[place].record
        before = [arguments[each] for each in self.before]
        self.for_maker = (*before, types.int64)
        self.for_then = (before[0], self.record, *(arguments[each] for each in self.behind))

    def copied(self, complete: bool) -> dict[str, int]:
        """The fields that sources give, each with the place of its source.

        Raises:
            TypingError: as :func:`filled` raises a TypeError.
        """
        layouts = [self.arguments[each].fields for each in self.sources]
        try:
            return _copied_fields(self.record_class, layouts, self.named, complete)
        except TypeError as error:
            raise TypingError(str(error)) from error

    def fill(self, context: Any, builder: Any, free: Any, values: Any, complete: bool) -> Any:
        """The code that sets the fields of a free record; its pointer."""
        copied = self.copied(complete)
        seen = set_body(context, builder, free, self.record_class, {*copied, *self.named})
        for name, place in copied.items():
            source, pointer = (each[self.sources[place]] for each in (self.arguments, values))
            at, given = member_of(context, builder, pointer, source, name)
            value = context.unpack_value(builder, given, at, align=1)
            self._set(context, builder, seen, name, given, value)
        behind = values[len(self.arguments) :]
        for (name, given), value in zip(self.named.items(), behind, strict=True):
            self._set(context, builder, seen, name, given, value)
        return seen

    def _set(
        self, context: Any, builder: Any, seen: Any, name: str, given: Any, value: Any
    ) -> None:
        at, field = member_of(context, builder, seen, self.record, name)
        context.pack_value(builder, field, context.cast(builder, value, given, field), at, align=1)


_BY_NAME = inspect.Parameter.POSITIONAL_OR_KEYWORD


def _call_of(typing_context: Any, rule: Any, arguments: Any) -> tuple[Any, Any]:
    callee = typing_context.resolve_value_type(rule)
    return callee, callee.get_call_type(typing_context, tuple(arguments), {})


def _called(context: Any, builder: Any, rule: Any, given: Any, values: Any) -> Any:
    """The code that calls a rule, with the types and values of its arguments."""
    callee, call = _call_of(context.typing_context, rule, given)
    implementation = context.get_function(callee, call)
    taken = [
        context.cast(builder, value, *each)
        for value, *each in zip(values, given, call.args, strict=True)
    ]
    result = implementation(builder, taken)
    context.add_linking_libs(getattr(implementation, "libs", ()))
    return result
