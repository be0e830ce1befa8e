"""Modules with forward hooks.

The ids of the hooks differ in each module; they are guarded only where the program reads them.
"""

from __future__ import annotations

import pytest
import torch
from torch import nn

import capture


def double(module, args, output):
    return output * 2


def plus(module, args, output):
    return output + 1


def shift_input(module, args):
    return args[0] - 1


def scale_by_keyword(module, args, kwargs, output):
    return output * kwargs["scale"]


def change_keyword(module, args, kwargs):
    return args, {"scale": kwargs["scale"] + 1}


def wrong_result(module, args, kwargs):
    return args


class Scaled(nn.Module):
    def forward(self, x, scale=1):
        return x * scale + 1


class Around(nn.Module):
    def __init__(self, register):
        super().__init__()
        self.inner = Scaled()
        register(self.inner)

    def forward(self, x):
        return self.inner(x, scale=3) - 2


def registers(*rows):
    def register(module):
        for method, hook, options in rows:
            getattr(module, method)(hook, **options)

    return register


AFTER, BEFORE = "register_forward_hook", "register_forward_pre_hook"
KEYWORDS = {"with_kwargs": True}
PLAIN = registers((AFTER, double, {}))
MIXED = registers((AFTER, plus, {}), (AFTER, scale_by_keyword, KEYWORDS), (AFTER, double, {"prepend": True}))


def forward_of(module, x):
    return module(x)


def run(function, modules):
    """The number of graphs; each result is eager's."""
    graphs, x = [], torch.randn(3, 4)

    def backend(gm, inputs):
        graphs.append(gm)
        return gm.forward

    compiled = capture.compile(function, backend=backend)
    for module in modules:
        torch.testing.assert_close(compiled(module, x), function(module, x), rtol=0, atol=0)
    return len(graphs)


@pytest.mark.parametrize(
    "register",
    [
        PLAIN,
        MIXED,
        registers((BEFORE, shift_input, {}), (AFTER, plus, {})),
        registers((BEFORE, change_keyword, KEYWORDS), (BEFORE, shift_input, {})),
    ],
)
def test_modules_with_the_same_hooks_share_a_graph(register):
    assert run(forward_of, [Around(register) for _ in range(10)]) == 1


def test_another_hook_order_or_way_to_be_called_is_captured_anew():
    def takes_all(module, args, *rest):
        return rest[-1] * (len(rest) + 1)

    kinds = [
        registers((AFTER, double, {}), (AFTER, plus, {})),
        registers((AFTER, double, {}), (AFTER, plus, {"prepend": True})),
        registers((AFTER, takes_all, {}), (AFTER, plus, {})),
        registers((AFTER, takes_all, KEYWORDS), (AFTER, plus, {})),
        registers((AFTER, plus, {}), (AFTER, double, {"always_call": True})),
        registers((AFTER, plus, {})),
    ]
    assert run(forward_of, [Around(kind) for kind in kinds]) == len(kinds)


def test_which_of_the_hooks_takes_keywords_is_guarded():
    def takes_all(module, args, *rest):
        return rest[-1] * (len(rest) + 1) + rest[-1] * rest[-1] * len(rest)

    kinds = [
        registers(
            (AFTER, takes_all, KEYWORDS if first else {}), (AFTER, takes_all, {} if first else KEYWORDS)
        )
        for first in (True, False)
    ]

    def shifted(module, x):
        return module(x) + 1

    # The hooks and the number of marks are equal: only the ids tell which hook has the mark.
    made = [Around(kinds[i % 2]) for i in range(4)]
    assert run(shifted, made) == 2


def test_ids_that_the_program_reads_are_guarded():
    def reads(module, x):
        return module(x) + next(iter(module.inner._forward_hooks))

    assert run(reads, [Around(PLAIN) for _ in range(3)]) == 3


def test_a_hook_registered_by_forward_is_called_at_once():
    class Registers(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_forward_hook(plus)

        def forward(self, x):
            if len(self._forward_hooks) == 1:
                self.register_forward_hook(double)
            return x * 3

    x = torch.randn(3)
    eager, captured = Registers(), Registers()
    compiled = capture.compile(forward_of, backend="eager")
    for _ in range(2):
        torch.testing.assert_close(compiled(captured, x), forward_of(eager, x), rtol=0, atol=0)


def test_a_hook_with_a_wrong_result_raises_as_eager():
    module, x = Around(registers((BEFORE, wrong_result, KEYWORDS))), torch.randn(3)
    with pytest.raises(RuntimeError) as eager:
        module(x)
    with pytest.raises(RuntimeError) as captured:
        capture.compile(forward_of, backend="eager")(module, x)
    assert str(captured.value) == str(eager.value)


def test_a_hook_that_forward_registers_is_called_behind_its_exception():
    noted = []

    def note(module, args, output):
        noted.append(output)

    class Raises(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_forward_hook(plus)

        def forward(self, x):
            key = max(self._forward_hooks) + 1000
            self._forward_hooks[key] = note
            self._forward_hooks_always_called[key] = True
            raise ValueError("refused")

    def catches(module, x):
        x = x * 3
        try:
            return module(x)
        except ValueError:
            return x - 1

    x = torch.ones(3)
    result = capture.compile(catches, backend="eager")(Raises(), x)
    torch.testing.assert_close(result, catches(Raises(), x), rtol=0, atol=0)
    assert noted == [None, None]
