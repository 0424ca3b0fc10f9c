"""From the typed form of a rule to LLVM's code, without what rules have no use for.

Numba gives a variable that more than one block knows a place on the stack, fills it with zeros,
counts references to what is in it, and fills it with zeros again behind its last use; LLVM then
finds the values. Rules hold no references, and nearly all variables are assigned once, so they are
plain values from the beginning. LLVM gets three fifths of the lines so, and to lower all inner
rules takes two thirds of the time.
"""

from typing import Any

from numba.core import cgutils, ir, types
from numba.core.analysis import compute_cfg_from_blocks
from numba.core.callconv import RETCODE_OK
from numba.core.lowering import Lower
from numba.core.runtime.context import NRTContext


class _NoReferences(NRTContext):  # type: ignore[misc]
    """Rules own no arrays, and count no references to any.

    Numba's own pass for references would take the calls out again, but not from functions that are
    linked later: they were 2 % of the loop, and LLVM loaded again behind each what it knew.
    """

    def _call_incref_decref(self, *_arguments: Any) -> None:
        """No call."""


class LowerRule(Lower):  # type: ignore[misc]  # Numba has no types
    """Makes LLVM's code of a rule."""

    def lower(self) -> None:
        """The code of the rule itself; what Python calls to call it does count references."""
        known = self.context.nrt
        self.context.nrt = _NoReferences(self.context, enabled=True)
        try:
            super().lower()
        finally:
            self.context.nrt = known

    def init(self) -> None:
        """Find the variables that are assigned once, and an order of blocks for their values."""
        assigned: dict[str, int] = {}
        for block in self.blocks.values():
            for each in block.find_insts(ir.Assign):
                assigned[each.target.name] = assigned.get(each.target.name, 0) + 1
        self._once = {name for name, count in assigned.items() if count == 1}
        #: The value of a variable that is assigned once, the label and LLVM's block of the place.
        self._values: dict[str, tuple[Any, int, Any]] = {}
        graph = compute_cfg_from_blocks(self.blocks)
        self._dominators = graph.dominators()
        self._order = graph.topo_order()

    def lower_function_body(self) -> Any:
        """As Numba, with a block behind those that all ways to it go through."""
        for label in self._order:
            self.blkmap[label] = self.function.append_basic_block(f"B{label}")
        self.pre_lower()
        entry = self.builder.basic_block
        for label in self._order:
            self._label = label
            self.builder.position_at_end(self.blkmap[label])
            for instruction in self.blocks[label].body:
                self.loc = instruction.loc
                self.lower_inst(instruction)
        return entry

    def lower_inst(self, inst: Any) -> None:
        """As Numba, without notes for debuggers."""
        if isinstance(inst, ir.Assign):
            name = inst.target.name
            self.storevar(self.lower_assign(self.typeof(name), inst), name)
        elif isinstance(inst, ir.Return) and self.fndesc.restype == types.none:
            self.builder.ret(RETCODE_OK)
        elif not isinstance(inst, ir.Del):
            super().lower_inst(inst)

    def lower_assign(self, ty: Any, inst: Any) -> Any:
        """As Numba, but a rule that is called is nothing that code has to know at run time."""
        if isinstance(ty, types.Dispatcher):
            return self.context.get_dummy_value()
        return super().lower_assign(ty, inst)

    def lower_binop(self, resty: Any, expr: Any, op: Any) -> Any:
        """As Numba, which first asks three times for code for operands that it does not know."""
        if expr.static_lhs is not ir.UNDEFINED or expr.static_rhs is not ir.UNDEFINED:
            return super().lower_binop(resty, expr, op)
        signature = self.fndesc.calltypes[expr]
        operation = self.context.typing_context.resolve_value_type(op)
        found = operation.get_call_type(self.context.typing_context, signature.args, {})
        operands = [
            self._cast_var(operand, wanted)
            for operand, wanted in zip((expr.lhs, expr.rhs), signature.args, strict=True)
        ]
        result = self.context.get_function(operation, found)(self.builder, operands)
        return self.context.cast(self.builder, result, signature.return_type, resty)

    def loadvar(self, name: str) -> Any:
        """The value of a variable."""
        value, label, block = self._values.get(name, (None, None, None))
        if value is not None and label in self._dominators[self._label]:
            return value
        if name not in self.varmap:
            # Not assigned on all ways to here: the place is as LLVM finds it, filled with zeros.
            self.varmap[name] = self.alloca(name, self.typeof(name))
            if value is not None:
                self._store_at_end(block, value, self.varmap[name])
        return self.builder.load(self.varmap[name])

    def storevar(self, value: Any, name: str, argidx: int | None = None) -> None:
        """Assign a variable."""
        del argidx
        is_once = name in self._once
        if is_once:
            self._values[name] = value, self._label, self.builder.basic_block
        elif name not in self.varmap:
            self.varmap[name] = self.alloca(name, self.typeof(name))
        if name in self.varmap:
            self.builder.store(value, self.varmap[name])

    def _store_at_end(self, block: Any, value: Any, place: Any) -> None:
        with self.builder.goto_block(block):
            self.builder.store(value, place)

    def incref(self, typ: Any, val: Any) -> None:
        """Nothing: rules hold no references."""

    def decref(self, typ: Any, val: Any) -> None:
        """Nothing: rules hold no references."""


def insert_inner_rule(target: Any, entry: Any, described: Any, library: Any) -> None:
    """Have callers of an inner rule call its symbol.

    An error of the callee is left where the caller leaves its own, so that a call is four
    instructions; Numba's are twenty.
    """

    def called(context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        function = builder.module.globals.get(described.mangled_name)
        if function is None:
            function = context.declare_function(builder.module, described)
        conventions = context.call_conv
        pointer = conventions.get_return_type(described.restype)
        is_nothing = described.restype == types.none
        if is_nothing:
            place = pointer(None)
        else:
            with builder.goto_entry_block():
                place = builder.alloca(pointer.pointee)
        packer = conventions._get_arg_packer(described.argtypes)  # noqa: SLF001 - how Numba calls
        error = conventions._get_excinfo_argument(builder.function)  # noqa: SLF001 - ...
        given = [place, error, *packer.as_arguments(builder, arguments)]
        code = builder.call(function, given)
        with cgutils.if_unlikely(builder, builder.icmp_signed("!=", code, RETCODE_OK)):
            builder.ret(code)
        if is_nothing:
            return context.get_dummy_value()
        return context.get_returned_value(builder, described.restype, builder.load(place))

    called.libs = (library,)  # type: ignore[attr-defined]
    target._defns[entry].append(called, described.argtypes)  # noqa: SLF001 - as Numba does
