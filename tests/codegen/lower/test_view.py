"""Views against eager: values, strides, shared memory."""

from __future__ import annotations

import pytest
import torch

from tests.codegen.lowering_check import calls, check, kernels

FUSED = {
    "permute": lambda x: x.permute(2, 0, 1) + 1,
    "transpose": lambda x: x.transpose(0, 2) * 2,
    "transposed sum": lambda x: (x.transpose(1, 2) * 2).sum(-1),
    "reshape": lambda x: torch.exp(x.reshape(6, 20)) + 1,
    "reshape of permuted": lambda x: x.permute(1, 0, 2).reshape(5, 24) + 1,
    "odd reshape": lambda x: x.reshape(8, 15).t() * 2,
    "two reshapes": lambda x: (x.view(2, 12, 5) * 2).view(24, 5) + 1,
    "expand": lambda x: x[:, :1].expand(4, 6, 5) + x,
    "slice": lambda x: x[1:3, ::2, -3:] + 1,
    "slice then add": lambda x: x[:, 1:] - x[:, :-1],
    "select": lambda x: x[2] * x[:, -1, :].sum(),
    "flip of one number": lambda x: torch.flip(x.sum(), (0,)) + 1,
    "flip": lambda x: torch.flip(x, (0, 2)) + x,
    "unfold": lambda x: x.unfold(1, 3, 2) + 1,
    "diagonal": lambda x: torch.diagonal(x, 1, 1, 2) * 2,
    "squeeze": lambda x: x[:1].squeeze(0).unsqueeze(2) + 1,
    "repeat": lambda x: x.repeat(2, 1, 3) + 1,
    "split": lambda x: [part * 2 for part in torch.split(x, 2, 1)],
    "unbind": lambda x: sum(torch.unbind(x, 2)),
    "chunk and multiply": lambda x: torch.chunk(x, 2, 1)[0] * torch.sigmoid(torch.chunk(x, 2, 1)[1]),
    "pixel shuffle": lambda x: x.view(2, 2, 6, 5).permute(2, 0, 3, 1).reshape(12, 10) + 1,
    "flatten": lambda x: x.flatten() * 3,
    "reduce a reshape": lambda x: x.view(4, 2, 3, 5).sum((1, 3)),
    "reduce then reshape": lambda x: (x.sum(2).view(2, 2, 6) + 1).permute(2, 1, 0),
    "broadcast back": lambda x: x.view(4, 30) - x.mean((1, 2), keepdim=True).view(4, 1),
}


@pytest.mark.parametrize("name", FUSED)
def test_fused(name):
    check(FUSED[name], torch.randn(4, 6, 5))


ALIASES = {
    "view": lambda x: x.view(24, 5),
    "transpose": lambda x: x.transpose(0, 1),
    "slice": lambda x: x[1:, ::2],
    "select": lambda x: x[3, 2],
    "expand": lambda x: x[:, :1].expand(4, 6, 5),
    "itself": lambda x: x,
    "view of a result": lambda x: (x * 2).transpose(0, 2),
    "result and its view": lambda x: (y := x * 2, y.view(-1), y[1]),
    "clone is its own": lambda x: x.clone(),
    "contiguous copy": lambda x: x.transpose(0, 1).contiguous(),
    "reshape that copies": lambda x: x.transpose(0, 1).reshape(-1),
    "same twice": lambda x: (y := x + 1, y),
}


@pytest.mark.parametrize("name", ALIASES)
def test_outputs_alias_as_in_eager(name):
    check(ALIASES[name], torch.randn(4, 6, 5))


def test_view_of_a_result_shares_its_memory():
    from tests.codegen.loop_interpreter import run_program

    x = torch.randn(4, 6)
    program = check(lambda x: (y := x + 1, y.t()), x)
    first, second = run_program(program, [x])
    assert first.data_ptr() == second.data_ptr()


def test_input_with_an_offset():
    check(lambda x: (x * 2, x.t(), x[1:]), torch.randn(10, 12)[3:, 2:9])


def test_operator_gets_a_view_without_a_copy():
    program = check(
        lambda x, w: torch.mm(torch.relu(x), w.t()), torch.randn(5, 8), torch.randn(6, 8), no_calls=False
    )
    assert calls(program) == [torch.ops.aten.mm.default]
    assert len(kernels(program)) == 1


def test_attention_heads():
    def function(x, w):
        heads = (x @ w).view(2, 7, 3, 4).permute(0, 2, 1, 3)
        return torch.softmax(heads @ heads.transpose(2, 3) / 2, -1)

    check(function, torch.randn(2, 7, 12), torch.randn(12, 12), no_calls=False)
