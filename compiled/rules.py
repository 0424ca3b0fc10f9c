"""One decorator for every rule: compiled by Numba, or plain Python for debugging.

``@rule`` marks a function over records (``records.py``) and integers. By default it
becomes machine code; with ``TIDEGAUGE_COMPILED=0`` the same source runs as plain Python,
so that a debugger can step through it. Both give the same results, which the tests check.
``codes.py`` has the other environment variables, ``kept_code.py`` says where the
code is kept, ``compile_all.py`` compiles everything in all processors at once.
"""

from collections.abc import Callable
from functools import cached_property
from typing import Any, TypeVar, cast

import numba
from numba.extending import typeof_impl

from tidegauge.compiled import inner_code, record_views  # noqa: F401 - how rules see records
from tidegauge.compiled.codes import BOUNDS_CHECKED
from tidegauge.compiled.codes import COMPILED as COMPILED  # noqa: PLC0414 - ...
from tidegauge.compiled.codes import NamedCodes as NamedCodes  # noqa: PLC0414 - ...
from tidegauge.compiled.codes import code as code  # noqa: PLC0414 - rules import it from here
from tidegauge.compiled.signatures import Tables as Tables  # noqa: PLC0414 - as `code`
from tidegauge.compiled.signatures import signature_of

#: Rooms in which there are rules.
KERNEL_ROOMS = (
    *("replication", "simulation", "clients", "traces", "controller", "actors"),
    *("engine.exchange", "engine.fuzzing"),
)
#: Modules of the rules that reach most of the others, largest first: the doors of the rooms
#: (``engine/doors.py``), and the loop that calls them.
LARGE_RULES = (
    *("tidegauge.actors.broker", "tidegauge.controller.controller", "tidegauge.clients.client"),
    *("tidegauge.controller.kraft.active_controller", "tidegauge.controller.zookeeper.zookeeper"),
    "tidegauge.engine.event_loop",
)
#: The module that imports all rules that a run needs.
RUN = "tidegauge.engine.simulate"

Function = TypeVar("Function", bound=Callable[..., Any])

#: Every rule in the order of its definition: a Numba dispatcher, or the plain function.
RULES: list[Callable[..., Any]] = []

#: Functions that only rules call.
INNER_RULES: list["InnerRule"] = []


class InnerRule:
    """A function as rules call it. Numba's dispatcher of it is made when it is compiled first.

    A run that finds its code kept makes none of these 2,300 dispatchers: a tenth of its start.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        #: The plain function.
        self.py_func = function
        #: As a rule has it: itself in this form.
        self.inner = self

    @cached_property
    def dispatcher(self) -> Any:
        """Numba's dispatcher."""
        made = _dispatcher(self.py_func, inner_code.InnerCompiler)
        made.inner = self
        return made

    def compile(self, signature: Any) -> None:
        """Compile it for a signature, or load its kept code."""
        self.dispatcher.compile(signature)


@typeof_impl.register(InnerRule)  # type: ignore[untyped-decorator]  # Numba has no types
def _typeof(inner: InnerRule, context: Any) -> Any:
    return typeof_impl(inner.dispatcher, context)


def rule(function: Function) -> Function:
    """Compile a function over records and integers, and enter it in :data:`RULES`.

    Rules that call it have a form of their own of it, as an inner rule: machine code of it is made
    for Python alone, where Python calls it (``compile_all.py``).
    """
    if not COMPILED:
        RULES.append(function)
        return function
    dispatcher = _dispatcher(function, inner_code.RuleCompiler)
    inner = dispatcher.inner = InnerRule(function)
    dispatcher.get_call_template = lambda *types: inner.dispatcher.get_call_template(*types)  # noqa: PLW0108 - made then
    dispatcher.get_overload = lambda signature: inner.dispatcher.get_overload(signature)  # noqa: PLW0108 - ...
    RULES.append(dispatcher)
    return cast(Function, dispatcher)


def inner_rule(function: Function) -> Function:
    """Compile a function that only rules call, as a part of them: not to be called from Python.

    Numba makes machine code of every function by itself, with all that it calls in it, so
    in a deep kernel the same code is optimised again at each level. An inner rule is typed
    and lowered once, and its code goes into the rules that use it: the kernel of 430
    functions compiles in a third of the time (DESIGN asks for less than a minute).
    """
    if not COMPILED:
        return function
    INNER_RULES.append(InnerRule(function))
    return cast(Function, INNER_RULES[-1])


def _dispatcher(function: Callable[..., Any], compiler: type[inner_code.Compiler]) -> Any:
    """A function to be compiled by a compiler, in the one form that its annotations name.

    Numba would compile the rule once more for each combination of types in a call: for a record
    with more fields than the rule asks for, or for tables with more parts. Here a call converts
    its arguments instead, as a typed language does.
    """
    dispatcher = numba.njit(
        # Several groups of processes run in threads of one interpreter.
        nogil=True,
        # C's division: Python's would add a branch that raises to each one.
        error_model="numpy",
        boundscheck=BOUNDS_CHECKED,
        # Python calls rules alone, and no one takes their address as that of a C function.
        no_cpython_wrapper=compiler is inner_code.InnerCompiler,
        no_cfunc_wrapper=True,
        pipeline_class=compiler,
    )(function)
    call_template = dispatcher.get_call_template

    def declared(arguments: Any, keywords: Any) -> Any:
        signature = signature_of(function)
        if signature not in dispatcher.overloads:
            dispatcher.compile(signature)
        dispatcher.disable_compile()
        try:
            return call_template(arguments, keywords)
        finally:
            dispatcher.disable_compile(False)

    dispatcher.get_call_template = declared
    return dispatcher


def wrapped(value: int) -> int:
    """The lowest 64 bits of an integer, signed, as in compiled arithmetic.

    Plain Python's integers do not wrap round, so arithmetic that relies on it calls this. Its
    operands have to be plain integers too (``int(...)``), since numpy's complain.
    """
    return ((value + (1 << 63)) & ((1 << 64) - 1)) - (1 << 63)


@numba.extending.overload(
    wrapped, inline="always", jit_options={"pipeline_class": inner_code.InlinedCompiler}
)
def _wrapped(value):  # type: ignore[no-untyped-def] # noqa: ANN001, ANN202, ARG001 - Numba's wish
    return lambda value: value
