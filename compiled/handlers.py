"""Handlers of events: a decorator that enters a rule for a class, and the rule that chooses.

``@BROKER.handles(FetchResponse)`` above a rule enters it as the handler of events of this class,
typed as it. :meth:`Handlers.dispatcher` makes one rule of all that were entered: flat comparisons
of the event's kind, which LLVM makes a jump table of.
"""

from collections.abc import Callable
from typing import Any, TypeVar, get_type_hints

from tidegauge.compiled.records import Record, view_as
from tidegauge.compiled.rules import inner_rule
from tidegauge.compiled.signatures import Tables

Handler = TypeVar("Handler", bound=Callable[..., Any])


class Handlers:
    """The handlers of all kinds of events that one sort of process takes."""

    def __init__(self) -> None:
        self._handlers: dict[int, tuple[type[Record], Callable[..., Any]]] = {}

    def handles(self, *classes: type[Record]) -> Callable[[Handler], Handler]:
        """Enter a rule that takes a world and an event for the events of these classes.

        Raises:
            TypeError: another rule takes events of such a class.
        """

        def enter(handler: Handler) -> Handler:
            for each in classes:
                kind = int(each.KIND)  # type: ignore[attr-defined]  # an event's class has it
                if kind in self._handlers:
                    raise TypeError(f"{each.__name__} has two handlers")
                self._handlers[kind] = each, handler
            return handler

        return enter

    @property
    def classes(self) -> list[type[Record]]:
        """The classes of the events that have a handler."""
        return [each for each, _ in self._handlers.values()]

    def dispatcher(
        self, module: str, name: str, world: type[Tables], event: type[Record]
    ) -> Callable[..., Any]:
        """The rule ``name(world, event)`` that calls the handler of the event's kind.

        It returns the value of the handlers, which all have one type: nothing, or whether they are
        done. For an event that none takes it returns nothing, or False.

        Args:
            module: the module that the rule is to be part of.
            name: its name there.
            world: the tables that it takes.
            event: the class that all events derive from.
        """
        names: dict[str, Any] = {"view_as": view_as, "__name__": module}
        returned = {
            get_type_hints(plain_of(each)).get("return") for _, each in self._handlers.values()
        }
        (result,) = returned
        lines = [f"def {name}(world, event):", "    kind = event.kind"]
        for number, (kind, (taken, handler)) in enumerate(sorted(self._handlers.items())):
            names |= {f"handler_{kind}": handler, f"class_{kind}": taken}
            asked = [*get_type_hints(plain_of(handler)).values()][1]
            seen = "event" if asked is event else f"view_as(event, class_{kind})"
            call = f"handler_{kind}(world, {seen})"
            lines += [
                f"    {'if' if number == 0 else 'elif'} kind == {kind}:",
                f"        return {call}" if result is bool else f"        {call}",
            ]
        if result is bool:
            lines.append("    return False")
        exec("\n".join(lines), names)  # noqa: S102 - code that this function has just written
        function = names[name]
        function.__annotations__ = {"world": world, "event": event, "return": result}
        rule: Callable[..., Any] = inner_rule(function)
        return rule


def plain_of(handler: Callable[..., Any]) -> Any:
    """The Python function of a rule."""
    return getattr(handler, "py_func", handler)
