"""Recurrent networks by operators of our own, whose loop over time is native.

In:  the arguments of `torch.lstm`, `gru`, `rnn_tanh` or `rnn_relu`: a padded batch, or packed sequences, in
     float32 or float64.
Out: for each layer and direction one product of all steps with the weight of the inputs, and one operator of
     `codegen.kernel.recurrent`. NotImplemented for all others, which torch unrolls.

    gru(x[30, 8, 16], h0, ...)   ->   addmm(bias, x.view(240, 16), weight.t()); gru_layer(...)

The backward goes through the steps once for the gradients of the gates. Those of weights, biases and inputs
are one product or sum of all steps each. A graph of gradients that have derivatives themselves unrolls the
loop, but for packed sequences (`packed_gradients`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any

import torch
from torch.autograd import forward_ad

from capture_records import dataclass
from codegen.kernel import recurrent, recurrent_steps
from codegen.rewrite import packed_gradients
from codegen.rewrite.rows import WIDE, replacing

operators: Any = torch.ops._capture
Tensor = torch.Tensor
KINDS: dict[Any, str] = {torch.lstm: "lstm", torch.gru: "gru", torch.rnn_tanh: "tanh", torch.rnn_relu: "relu"}
#: of the gates, in states
WIDTHS = {"lstm": recurrent.LSTM_GATES, "gru": recurrent.GATES, "tanh": 1, "relu": 1}


# --- which calls --------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Call:
    """The arguments of such a function. `states`: those before the first step, of an LSTM also the cells.
    `rows`: those of each step of packed sequences, else None.
    """

    kind: str
    data: Tensor
    rows: Tensor | None
    states: tuple[Tensor, ...]
    weights: Any
    biased: bool
    layers: int
    dropout: float
    train: bool
    both: bool
    batch_first: bool

    @property
    def directions(self) -> int:
        return 2 if self.both else 1

    @property
    def each(self) -> int:
        """The tensors in `weights` of one layer and direction."""
        return 4 if self.biased else 2


def is_packed(function: Any, args: tuple[Any, ...]) -> bool:
    """Whether the call has packed data: behind them their batch sizes stand, and only then the states."""
    place = 1 if function is torch.lstm else 2  # of what is a list of tensors in the other calls
    return len(args) > place and isinstance(args[place], Tensor)


def call_of(function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Call | None:
    """None for arguments that no padded batch and no packed sequences have."""
    if kwargs or len(args) != 9:
        return None
    data, *rest = args
    rows = rest.pop(0) if is_packed(function, args) else None
    given, weights, *others = rest
    states = tuple(given) if isinstance(given, (tuple, list)) else (given,)
    if len(states) != (2 if function is torch.lstm else 1) or not all(isinstance(s, Tensor) for s in states):
        return None
    return Call(KINDS[function], data, rows, states, weights, *others, *([] if rows is None else [False]))


def takes(call: Call) -> bool:
    """Whether the operators compute what this call does: its tensors have the sizes and dtypes that eager
    asks for, and nothing else has a say.
    """
    data, rows = call.data, call.rows
    tensors = (data, *call.states, *call.weights)
    return (
        is_on
        and len(call.weights) == call.layers * call.directions * call.each
        and data.dim() == (3 if rows is None else 2)
        and all(state.dim() == 3 for state in call.states)
        and all(t.dtype is data.dtype and t.device.type == "cpu" for t in tensors)
        and data.dtype in WIDE
        and all(size != 0 for weight in call.weights for size in weight.shape)
        and data.shape[1 if call.batch_first else 0] != 0
        and call.dropout != 1
        and not torch.is_autocast_enabled("cpu")
        and forward_ad._current_level < 0
        and torch._C._functorch.peek_interpreter_stack() is None
        and (rows is None or are_rows(rows, call))
        and fit(call)
        and not (call.kind == "lstm" and rows is None and onednn_is_faster(call))
    )


def are_rows(rows: Tensor, call: Call) -> bool:
    """As far as can be seen without their values."""
    return (
        rows.dtype is torch.int64
        and rows.device.type == "cpu"
        and rows.dim() == 1
        and rows.shape[0] != 0
        and call.states[0].shape[1] != 0
    )


#: layers that eager's oneDNN computes faster than our loop: many rows in each of many steps, or weights that
#: no cache holds (measured by AVX-512 on one core)
MANY_ROWS, MANY_STEPS, LEAST_WIDTH, LARGE_WIDTH = 48, 8, 128, 768


def onednn_is_faster(call: Call) -> bool:
    """Only of sizes that are numbers: each length is a graph of its own there. A backward of ours gains more
    than a forward loses.
    """
    data, states = call.data, call.states
    steps, batch = (data.shape[dim] for dim in ((1, 0) if call.batch_first else (0, 1)))
    if data.dtype is not torch.float32 or not (isinstance(steps, int) and isinstance(batch, int)):
        return False
    if torch.is_grad_enabled() and any(tensor.requires_grad for tensor in (data, *states, *call.weights)):
        return False
    width = states[0].shape[2]
    many = batch > MANY_ROWS and steps > MANY_STEPS and width >= LEAST_WIDTH
    return bool(many or (width > LARGE_WIDTH and batch > 1 and steps > 1))


def fit(call: Call) -> bool:
    """Whether the sizes of the tensors fit together."""
    directions, each = call.directions, call.each
    width, inputs = call.states[0].shape[2], call.data.shape[-1]
    batch = (
        call.states[0].shape[1] if call.rows is not None else call.data.shape[0 if call.batch_first else 1]
    )
    if any(tuple(state.shape) != (call.layers * directions, batch, width) for state in call.states):
        return False
    gates = WIDTHS[call.kind] * width
    for place in range(call.layers * directions):
        own = call.weights[place * each : (place + 1) * each]
        inner = inputs if place < directions else width * directions
        if [tuple(t.shape) for t in own] != [(gates, inner), (gates, width), (gates,), (gates,)][:each]:
            return False
    return True


is_on = True


@contextmanager
def unrolled() -> Iterator[None]:
    """Traces of this block have the steps of recurrent networks one by one."""
    global is_on
    before, is_on = is_on, False
    try:
        yield
    finally:
        is_on = before


# --- one layer in one direction -----------------------------------------------------------------------------


class Lstm(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any,
        gates: Tensor,
        first: Tensor,
        first_cell: Tensor,
        weight: Tensor,
        reverse: bool,
        rows: Tensor | None,
        before: Tensor | None,
    ) -> tuple[Tensor, Tensor]:
        states, cell, kept = operators.lstm_layer(gates, first, first_cell, weight, reverse, True, rows)
        ctx.save_for_backward(gates, first, first_cell, weight, states, kept, rows, before)
        ctx.reverse = reverse
        return states, cell

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> Any:
        gates, first, first_cell, weight, states, kept, rows, before = ctx.saved_tensors

        def computed() -> list[Tensor | None]:
            of_gates, of_first, of_cell = operators.lstm_layer_backward(
                *grads, first_cell, kept, weight, ctx.reverse, rows
            )
            return [of_gates, of_first, of_cell, of_weight(of_gates, states, first, ctx.reverse, before)]

        tensors = gates, first, first_cell, weight
        return *gradients("lstm", ctx.reverse, rows, kept, tensors, grads, computed), None, None, None


class Gru(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any,
        gates: Tensor,
        first: Tensor,
        weight: Tensor,
        bias: Tensor | None,
        reverse: bool,
        rows: Tensor | None,
        before: Tensor | None,
    ) -> Tensor:
        states, kept = operators.gru_layer(gates, first, weight, bias, reverse, True, rows)
        ctx.save_for_backward(gates, first, weight, bias, states, kept, rows, before)
        ctx.reverse = reverse
        return states

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> Any:
        gates, first, weight, bias, states, kept, rows, before = ctx.saved_tensors

        def computed() -> list[Tensor | None]:
            of_gates, of_products, of_first = operators.gru_layer_backward(
                *grads, states, first, kept, weight, ctx.reverse, rows
            )
            of_bias = None if bias is None else of_products.flatten(0, -2).sum(0)
            return [of_gates, of_first, of_weight(of_products, states, first, ctx.reverse, before), of_bias]

        tensors = gates, first, weight, bias
        return *gradients("gru", ctx.reverse, rows, kept, tensors, grads, computed), None, None, None


class Rnn(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any,
        gates: Tensor,
        first: Tensor,
        weight: Tensor,
        relu: bool,
        reverse: bool,
        rows: Tensor | None,
        before: Tensor | None,
    ) -> Tensor:
        states = operators.rnn_layer(gates, first, weight, relu, reverse, rows)
        ctx.save_for_backward(gates, first, weight, states, rows, before)
        ctx.relu, ctx.reverse = relu, reverse
        return states

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> Any:
        gates, first, weight, states, rows, before = ctx.saved_tensors

        def computed() -> list[Tensor | None]:
            of_gates, of_first = operators.rnn_layer_backward(
                *grads, states, first, weight, ctx.relu, ctx.reverse, rows
            )
            return [of_gates, of_first, of_weight(of_gates, states, first, ctx.reverse, before)]

        kind, tensors = "relu" if ctx.relu else "tanh", (gates, first, weight)
        return *gradients(kind, ctx.reverse, rows, states, tensors, grads, computed), None, None, None, None


def gradients(
    kind: str,
    reverse: bool,
    rows: Tensor | None,
    kept: Tensor,
    tensors: tuple[Tensor | None, ...],
    grads: Sequence[Tensor],
    computed: Callable[[], list[Tensor | None]],
) -> list[Tensor | None]:
    """What `computed` gives for the tensors. In grad mode these gradients have derivatives."""
    if not torch.is_grad_enabled():
        return computed()
    if rows is None:
        walk = recurrent_steps.Padded(reverse)
        return recurrent_steps.gradients(recurrent_steps.STEPS[kind](kept, walk), tensors, grads)
    with torch.no_grad():
        found = [grad for grad in computed() if grad is not None]
    own = [tensor for tensor in tensors if tensor is not None]
    made = iter(packed_gradients.differentiable(kind, reverse, rows, kept, found, own, grads))
    return [None if tensor is None else next(made) for tensor in tensors]


def of_weight(
    of_products: Tensor, states: Tensor, first: Tensor, reverse: bool, before: Tensor | None
) -> Tensor:
    """The gradient of the weight of the states, from all steps. `before`: the places of the states before
    those of packed sequences (`packed_places`).
    """
    if before is not None:
        return of_products.t().mm(torch.cat((first, states)).index_select(0, before))
    steps, first = states.shape[0], first.unsqueeze(0)
    parts = (states.narrow(0, 1, steps - 1), first) if reverse else (first, states.narrow(0, 0, steps - 1))
    return of_products.flatten(0, 1).t().mm(torch.cat(parts).flatten(0, 1))


#: skips `torch.autograd.Function.apply`, whose checks are for functorch
lstm_with_gradients = super(torch.autograd.Function, Lstm).apply
gru_with_gradients = super(torch.autograd.Function, Gru).apply
rnn_with_gradients = super(torch.autograd.Function, Rnn).apply


@dataclass(frozen=True, slots=True)
class Order:
    """Of the steps of one direction. The tensors are those of packed sequences (`packed_places`)."""

    reverse: bool
    rows: Tensor | None = None
    last: Tensor | None = None
    before: Tensor | None = None

    def last_state(self, states: Tensor) -> Tensor:
        """[batch, width]: behind the last step of each sequence."""
        if self.last is not None:
            return states.index_select(0, self.last)
        return states.select(0, 0 if self.reverse else -1)


def orders_of(call: Call) -> list[Order]:
    """Of one direction, or of both."""
    made: list[Order] = []
    for reverse in (False, True)[: call.directions]:
        if call.rows is None:
            made.append(Order(reverse))
        else:
            count, batch = call.data.shape[0], call.states[0].shape[1]
            made.append(Order(reverse, *operators.packed_places(call.rows, count, batch, reverse)))
    return made


def one_layer(
    kind: str, data: Tensor, first: list[Tensor], weights: list[Tensor], order: Order
) -> tuple[Tensor, ...]:
    """The states of all steps, and of an LSTM the last cell. `first`: the state before the first step, and of
    an LSTM the cell. `weights`: of the inputs, of the states, and the biases of both, if any.
    """
    of_inputs, of_states, *biases = weights
    flat, across = data.reshape(-1, data.shape[-1]), of_inputs.t()
    if biases:
        products = torch.addmm(biases[0] if kind == "gru" else biases[0] + biases[1], flat, across)
    else:
        products = torch.mm(flat, across)
    gates = products.view(*data.shape[:-1], of_inputs.shape[0])
    tensors = (gates, *first, of_states, *biases)
    learns = torch.is_grad_enabled() and any(tensor.requires_grad for tensor in tensors)
    return FAMILIES[kind](learns, order, gates, *first, of_states, *biases[1:])


def lstm(
    learns: bool, order: Order, gates: Tensor, first: Tensor, first_cell: Tensor, weight: Tensor, *_: Any
) -> tuple[Tensor, ...]:
    tensors = (gates, first, first_cell, weight, order.reverse)
    if learns:
        found: tuple[Tensor, ...] = lstm_with_gradients(*tensors, order.rows, order.before)
        return found
    states, cell, _ = operators.lstm_layer(*tensors, False, order.rows)
    return states, cell


def gru(
    learns: bool,
    order: Order,
    gates: Tensor,
    first: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
) -> tuple[Tensor, ...]:
    tensors = (gates, first, weight, bias, order.reverse)
    if learns:
        return (gru_with_gradients(*tensors, order.rows, order.before),)
    return (operators.gru_layer(*tensors, False, order.rows)[0],)


def rnn(
    relu: bool, learns: bool, order: Order, gates: Tensor, first: Tensor, weight: Tensor, *_: Any
) -> tuple[Tensor, ...]:
    tensors = (gates, first, weight, relu, order.reverse, order.rows)
    return (rnn_with_gradients(*tensors, order.before) if learns else operators.rnn_layer(*tensors),)


FAMILIES: dict[str, Callable[..., tuple[Tensor, ...]]] = {
    "lstm": lstm,
    "gru": gru,
    "tanh": partial(rnn, False),
    "relu": partial(rnn, True),
}


# --- all layers ---------------------------------------------------------------------------------------------


def network(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """`torch.gru(data, states, weights, ...)`"""
    call = call_of(function, args, kwargs)
    if call is None or not takes(call):
        return NotImplemented
    data, orders = call.data, orders_of(call)
    if call.batch_first:
        data = data.transpose(0, 1)
    last: list[tuple[Tensor, ...]] = []
    for layer in range(call.layers):
        made: list[Tensor] = []
        for order in orders:
            place = len(last)
            own = call.weights[place * call.each : (place + 1) * call.each]
            first = [state.select(0, place) for state in call.states]
            all_steps, *cell = one_layer(call.kind, data, first, own, order)
            made.append(all_steps)
            last.append((order.last_state(all_steps), *cell))
        data = torch.cat(made, -1) if call.both else made[0]
        if call.dropout and call.train and layer < call.layers - 1:
            data = torch.dropout(data, call.dropout, True)
    return data.transpose(0, 1) if call.batch_first else data, *map(torch.stack, zip(*last))


for _function in KINDS:
    replacing(_function)(partial(network, _function))
