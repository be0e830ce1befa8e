"""Loads and stores.

In:  `Load` and `Store` of loop IR, with the mask of the lanes that are inside the loop (None: all).
Out: the kind of access that fits the place of the lanes in memory.

    contiguous lanes       vector load, masked if lanes are outside
    one place              scalar load, broadcast where it is used
    every second, reverse  vector loads and a shuffle
    few lanes              scalar loads, put together
    anywhere               gather, scatter
    atomic add             a loop over the lanes

A load of a buffer that the kernel does not write moves out of the loops that its index does not depend on.
"""

from __future__ import annotations

from codegen.kernel.errors import EmitError
from codegen.kernel.ir import Const, Load, Store
from codegen.llvm.emitter import Emitter
from codegen.llvm.function_text import Frame
from codegen.llvm.index import Address
from codegen.llvm.reduce import COMBINE
from codegen.llvm.streaming import LINE
from codegen.llvm.types import FLOATS, SIZES, constant, memory_element, memory_type, register_type, vector
from codegen.llvm.values import Code, Value, mangled

PAIRED = (-1, 2)  # strides whose elements are in one or two vectors
FEW_LANES = 8
NONTEMPORAL = "!0"  # LLVM's mark of a store that bypasses the caches


# --- loads ------------------------------------------------------------------------------------------------


def emit_load(emitter: Emitter, load: Load) -> Value:
    buffer = emitter.buffer(load.buffer)
    address = emitter.index.address(emitter.pointers[load.buffer], memory_element(load.dtype), load.index)
    mask = None if load.mask is None else emitter.value(load.mask)
    level = max(address.level, mask.level if mask else 0)
    movable = load.buffer not in emitter.written
    if buffer.dtype != load.dtype:
        raise EmitError(f"load of {load.dtype} from {load.buffer}, which holds {buffer.dtype}")
    if address.step == 0:
        return _load_one_place(
            emitter, load, address, mask, emitter.function.reachable_level(level) if movable else None
        )
    return _load_lanes(emitter, load, address, mask)


def _load_one_place(
    emitter: Emitter, load: Load, address: Address, mask: Value | None, level: int | None
) -> Value:
    """`level`: where the load may stand; None: here, after the stores before it."""
    function = emitter.function
    code = Code(function, emitter.target, function.depth if level is None else level, 1)
    if mask is not None and mask.lanes > 1:
        return _load_one_place_masked_by_lane(emitter, load, address, mask)
    kind = memory_type(load.dtype, 1)
    if mask is None:
        instruction = f"load {kind}, ptr {address.pointer}, align {SIZES[load.dtype]}"
        text = function.define_here(instruction) if level is None else function.define(level, instruction)
    else:
        text = _masked_scalar_load(code, load, address.pointer, mask.text, here=level is None)
    return Value(to_register(code, load.dtype, text), load.dtype, 1, code.level)


def _masked_scalar_load(code: Code, load: Load, pointer: str, mask: str, *, here: bool) -> str:
    """One element, without a branch: a masked load of a vector with one lane."""
    function, kind = code.function, memory_type(load.dtype, 1)
    single = f"<1 x {kind}>"
    intrinsic = f"@llvm.masked.load.{mangled(single)}.p0"
    function.declare(intrinsic, f"{single} {intrinsic}(ptr, <1 x i1>, {single})")
    bit = code.define(f"insertelement <1 x i1> poison, i1 {mask}, i64 0")
    other = f"<{kind} {_memory_literal(load)}>"
    arguments = f"ptr align {SIZES[load.dtype]} {pointer}, <1 x i1> {bit}, {single} {other}"
    call = f"call {single} {intrinsic}({arguments})"
    loaded = function.define_here(call) if here else code.define(call)
    return code.define(f"extractelement {single} {loaded}, i64 0")


def _load_one_place_masked_by_lane(emitter: Emitter, load: Load, address: Address, mask: Value) -> Value:
    """All lanes read the same element, and some lanes may be masked off: loads it if any lane is active."""
    code = Code(emitter.function, emitter.target, emitter.function.depth, mask.lanes)
    scalar = code.with_lanes(1)
    wanted = any_lane(code, _both(code, emitter.mask, mask.text) or "")
    text = to_register(
        scalar, load.dtype, _masked_scalar_load(scalar, load, address.pointer, wanted, here=True)
    )
    loaded = code.operand(Value(text, load.dtype, 1, code.level))
    return Value(
        code.select(mask.text, load.dtype, loaded, code.constant(load.dtype, load.other)),
        load.dtype,
        code.lanes,
        code.level,
    )


def _load_lanes(emitter: Emitter, load: Load, address: Address, mask: Value | None) -> Value:
    function, lanes = emitter.function, emitter.lanes
    code = Code(function, emitter.target, function.depth, lanes)
    active = _both(code, emitter.mask, None if mask is None else code.operand(mask))
    kind = memory_type(load.dtype, lanes)
    align = SIZES[load.dtype]
    if address.step == 1 and active is None:
        text = function.define_here(f"load {kind}, ptr {address.pointer}, align {align}")
    elif active is None and address.distance is not None and (address.stride in PAIRED or lanes <= FEW_LANES):
        text = _strided_read(emitter, address, load.dtype, address.distance)
    else:
        other = constant("u8" if load.dtype == "b8" else load.dtype, load.other, lanes)
        text = function.define_here(
            _masked_read(emitter, address, kind, load, active or code.constant("b8", True), other, mask)
        )
    return Value(to_register(code, load.dtype, text), load.dtype, lanes, function.depth)


def _strided_read(emitter: Emitter, address: Address, dtype: str, distance: Value) -> str:
    """Shuffles every second element, or elements in reverse order, out of the vectors that hold them.

    Few elements with a large stride are loaded one by one, which is faster than a gather.
    """
    function, lanes, element = emitter.function, emitter.lanes, memory_element(dtype)
    kind, align = memory_type(dtype, lanes), SIZES[dtype]
    stride = address.stride

    def place(offset: int | str) -> str:
        return function.define_here(f"getelementptr {element}, ptr {address.pointer}, i64 {offset}")

    def shuffled(first: str, second: str, order: list[int]) -> str:
        chosen = ", ".join(f"i32 {lane}" for lane in order)
        return function.define_here(
            f"shufflevector {kind} {first}, {kind} {second}, <{lanes} x i32> <{chosen}>"
        )

    if stride == -1:
        text = function.define_here(f"load {kind}, ptr {place(1 - lanes)}, align {align}")
        return shuffled(text, "poison", list(range(lanes - 1, -1, -1)))
    if stride == 2:  # the second vector ends with the last element that is wanted
        low = function.define_here(f"load {kind}, ptr {address.pointer}, align {align}")
        high = function.define_here(f"load {kind}, ptr {place(lanes - 1)}, align {align}")
        return shuffled(low, high, [2 * i if 2 * i < lanes else 2 * i + 1 for i in range(lanes)])
    text = "poison"
    for lane in range(lanes):
        offset = (
            lane * stride
            if stride is not None
            else function.define(distance.level, f"mul nsw i64 {distance.text}, {lane}")
        )
        loaded = function.define_here(f"load {element}, ptr {place(offset)}, align {align}")
        text = function.define_here(f"insertelement {kind} {text}, {element} {loaded}, i64 {lane}")
    return text


def _masked_read(
    emitter: Emitter,
    address: Address,
    kind: str,
    load: Load,
    active: str,
    other: str,
    mask: Value | None,
) -> str:
    function, lanes, align = emitter.function, emitter.lanes, SIZES[load.dtype]
    bits = f"<{lanes} x i1>"
    if address.step == 1:
        place = address.pointer if mask is None else _inside(emitter, load, address, mask, active)
        name = f"@llvm.masked.load.{mangled(kind)}.p0"
        function.declare(name, f"{kind} {name}(ptr, {bits}, {kind})")
        return f"call {kind} {name}(ptr align {align} {place}, {bits} {active}, {kind} {other})"
    _ask_for_next_row(emitter, load)
    pointers = emitter.index.lane_pointers(address, memory_element(load.dtype), lanes)
    name = f"@llvm.masked.gather.{mangled(kind)}.v{lanes}p0"
    function.declare(name, f"{kind} {name}(<{lanes} x ptr>, {bits}, {kind})")
    return f"call {kind} {name}(<{lanes} x ptr> align {align} {pointers}, {bits} {active}, {kind} {other})"


def _inside(emitter: Emitter, load: Load, address: Address, mask: Value, active: str) -> str:
    """The pointer, or the start of the buffer if no lane is wanted.

    There may be no memory far outside of the buffer, and each access that the processor has to suppress there
    takes as long as a hundred others.
    """
    function = emitter.function
    code = Code(function, emitter.target, function.depth, emitter.lanes)
    wanted = mask.text if mask.lanes == 1 else any_lane(code, active)
    start = emitter.pointers[load.buffer]
    return function.define_here(f"select i1 {wanted}, ptr {address.pointer}, ptr {start}")


def _ask_for_next_row(emitter: Emitter, load: Load) -> None:
    """One prefetch for each cache line that this many contiguous lanes would take."""
    if load.number not in emitter.ahead:
        return
    function, element = emitter.function, memory_element(load.dtype)
    place = emitter.index.address(emitter.pointers[load.buffer], element, emitter.ahead[load.number])
    name = "@llvm.prefetch.p0"
    function.declare(name, f"void {name}(ptr, i32, i32, i32)")
    for start in range(0, emitter.lanes, max(1, LINE // SIZES[load.dtype])):
        pointer = function.define_here(f"getelementptr {element}, ptr {place.pointer}, i64 {start}")
        function.line(f"call void {name}(ptr {pointer}, i32 0, i32 3, i32 1)")


def _memory_literal(load: Load) -> str:
    if load.dtype == "b8":
        return "1" if load.other else "0"
    return constant(load.dtype, load.other, 1)


def to_register(code: Code, dtype: str, text: str) -> str:
    if dtype != "b8":
        return text
    return code.define(
        f"icmp ne {memory_type('b8', code.lanes)} {text}, {'0' if code.lanes == 1 else 'zeroinitializer'}"
    )


def to_memory(code: Code, dtype: str, text: str) -> str:
    if dtype != "b8":
        return text
    return code.define(f"zext {code.type('b8')} {text} to {memory_type('b8', code.lanes)}")


# --- masks ------------------------------------------------------------------------------------------------


def _both(code: Code, left: str | None, right: str | None) -> str | None:
    if left is None or right is None:
        return right if left is None else left
    return code.binary("and", "b8", left, right)


def any_lane(code: Code, mask: str) -> str:
    """Whether a lane of `mask` is set."""
    if code.lanes == 1:
        return mask
    kind = code.type("b8")
    name = f"@llvm.vector.reduce.or.{mangled(kind)}"
    code.function.declare(name, f"i1 {name}({kind})")
    return code.define(f"call i1 {name}({kind} {mask})")


# --- stores -----------------------------------------------------------------------------------------------


def emit_store(emitter: Emitter, store: Store) -> None:
    buffer = emitter.buffer(store.buffer)
    value = emitter.value(store.value)
    if not buffer.writable:
        raise EmitError(f"store to {store.buffer}, which is not writable")
    if buffer.dtype != value.dtype:
        raise EmitError(f"store of {value.dtype} to {store.buffer}, which holds {buffer.dtype}")
    address = emitter.index.address(emitter.pointers[store.buffer], memory_element(buffer.dtype), store.index)
    mask = None if store.mask is None else emitter.value(store.mask)
    if store.combine is not None:
        _combine_lanes(emitter, store.combine, address, value, mask)
    elif address.step == 0:
        _store_one_place(emitter, store, address, value, mask)
    else:
        past_caches = emitter.leaves_out_caches and store.buffer in emitter.past_caches
        _store_lanes(emitter, address, value, mask, past_caches)


def _store_one_place(
    emitter: Emitter, store: Store, address: Address, value: Value, mask: Value | None
) -> None:
    if value.lanes > 1:
        raise EmitError(
            f"the iterations of the vector loop store different values to one element of {store.buffer}"
        )
    function = emitter.function
    condition = None
    if mask is not None:
        code = Code(function, emitter.target, function.depth, emitter.lanes if mask.lanes > 1 else 1)
        active = _both(code, emitter.mask, mask.text) if code.lanes > 1 else mask.text
        condition = any_lane(code, active or "")
    scalar = Code(function, emitter.target, function.depth, 1)
    text = to_memory(scalar, value.dtype, value.text)
    access = f"store {memory_type(value.dtype, 1)} {text}, ptr {address.pointer}, align {SIZES[value.dtype]}"
    function.guarded(condition, lambda: function.line(access))


def _store_lanes(
    emitter: Emitter, address: Address, value: Value, mask: Value | None, past_caches: bool = False
) -> None:
    function, lanes = emitter.function, emitter.lanes
    code = Code(function, emitter.target, function.depth, lanes)
    active = _both(code, emitter.mask, None if mask is None else code.operand(mask))
    text = to_memory(code, value.dtype, code.operand(value))
    kind, align, bits = memory_type(value.dtype, lanes), SIZES[value.dtype], f"<{lanes} x i1>"
    if address.step == 1 and active is None:
        how = f"align {align}"
        if past_caches and LINE % (lanes * align) == 0:
            function.declarations[NONTEMPORAL] = f"{NONTEMPORAL} = !{{i32 1}}"
            how = f"align {lanes * align}, !nontemporal {NONTEMPORAL}"
        function.line(f"store {kind} {text}, ptr {address.pointer}, {how}")
        return
    if address.step == 1:
        name = f"@llvm.masked.store.{mangled(kind)}.p0"
        function.declare(name, f"void {name}({kind}, ptr, {bits})")
        function.line(
            f"call void {name}({kind} {text}, ptr align {align} {address.pointer}, {bits} {active})"
        )
        return
    pointers = emitter.index.lane_pointers(address, memory_element(value.dtype), lanes)
    name = f"@llvm.masked.scatter.{mangled(kind)}.v{lanes}p0"
    function.declare(name, f"void {name}({kind}, <{lanes} x ptr>, {bits})")
    where = active or code.constant("b8", True)
    function.line(
        f"call void {name}({kind} {text}, <{lanes} x ptr> align {align} {pointers}, {bits} {where})"
    )


# --- combinations with memory -----------------------------------------------------------------------------


def _combine_lanes(
    emitter: Emitter, combine: str, address: Address, value: Value, mask: Value | None
) -> None:
    """Combines contiguous lanes at once, other lanes one after another.

    The order of the lanes is kept, because several lanes may mean the same element.
    """
    function, lanes = emitter.function, emitter.lanes
    code = Code(function, emitter.target, function.depth, lanes)
    active = _both(code, emitter.mask, None if mask is None else code.operand(mask))
    if lanes > 1 and address.step == 1 and emitter.kernel.split is None:
        before = _load_lanes(emitter, Load(-1, "", Const(0), value.dtype), address, mask)
        total = COMBINE[combine](code, value.dtype, before.text, code.operand(value))
        _store_lanes(emitter, address, Value(total, value.dtype, lanes, function.depth), mask)
        return
    if lanes == 1:
        function.guarded(
            active, lambda: _combine_one(emitter, combine, value.dtype, address.pointer, value.text)
        )
        return
    values = _spilled(emitter, value.dtype, code.operand(value), lanes)
    if address.lane_offsets is None:
        numbers = ", ".join(f"i64 {lane * (address.step or 0)}" for lane in range(lanes))
        offsets = _spilled(emitter, "i64", f"<{numbers}>", lanes)
    else:
        offsets = _spilled(emitter, "i64", address.lane_offsets, lanes)
    flags = None
    if active is not None:
        flags = _spilled(emitter, "u8", code.convert("zext", "b8", "u8", active), lanes)

    def one_lane(lane: str) -> None:
        offset = _element(emitter, "i64", offsets, lane)
        element = memory_element(value.dtype)
        place = function.define_here(f"getelementptr {element}, ptr {address.pointer}, i64 {offset}")
        condition = None
        if flags is not None:
            condition = function.define_here(f"icmp ne i8 {_element(emitter, 'u8', flags, lane)}, 0")
        function.guarded(
            condition,
            lambda: _combine_one(
                emitter, combine, value.dtype, place, _element(emitter, value.dtype, values, lane)
            ),
        )

    frame = Frame()
    lines = function.loop("0", str(lanes), 1, frame, one_lane)
    function.frames[-1].lines += frame.pre + lines


def _spilled(emitter: Emitter, dtype: str, text: str, lanes: int) -> str:
    kind = register_type(dtype, lanes)
    slot = emitter.function.stack_slot(kind)
    emitter.function.line(f"store {kind} {text}, ptr {slot}, align 64")
    return slot


def _element(emitter: Emitter, dtype: str, slot: str, lane: str) -> str:
    kind = vector(memory_element(dtype), 1)
    place = emitter.function.define_here(f"getelementptr {kind}, ptr {slot}, i64 {lane}")
    return emitter.function.define_here(f"load {kind}, ptr {place}, align {SIZES[dtype]}")


def _combine_one(emitter: Emitter, combine: str, dtype: str, pointer: str, text: str) -> None:
    """memory = combine(memory, value). It is atomic only if the launch divides the kernel between threads."""
    function, kind = emitter.function, register_type(dtype, 1)
    if dtype == "b8" or dtype in ("bf16", "f16"):
        raise EmitError(f"{combine} to memory of {dtype}")
    if emitter.kernel.split is not None:
        if combine != "sum":
            raise EmitError(f"{combine} to memory by several threads")
        operation = "fadd" if dtype in FLOATS else "add"
        function.define_here(
            f"atomicrmw {operation} ptr {pointer}, {kind} {text} monotonic, align {SIZES[dtype]}"
        )
        return
    before = function.define_here(f"load {kind}, ptr {pointer}, align {SIZES[dtype]}")
    after = COMBINE[combine](Code(function, emitter.target, function.depth, 1), dtype, before, text)
    function.line(f"store {kind} {after}, ptr {pointer}, align {SIZES[dtype]}")
