"""The state of the process as it decides a compilation."""

from __future__ import annotations

import torch

from codegen.stored.state import own_operators


def test_operators_that_a_program_registers_and_forgets() -> None:
    before = own_operators()
    assert own_operators() == before
    library = torch.library.Library("aten", "IMPL")
    library.impl("hypot", lambda x, y: x, "SparseCPU")
    assert set(own_operators()) - set(before) == {"aten/hypot/SparseCPU"}
    library.impl("frexp.Tensor", lambda x: (x, x), "Meta", allow_override=True)
    library._destroy()
    assert own_operators() == before


def test_an_operator_in_place_of_another_one() -> None:
    """As many are registered as before."""
    own = []
    for name in ("hypot", "nextafter"):
        library = torch.library.Library("aten", "IMPL")
        library.impl(name, lambda x, y: x, "SparseCPU")
        own.append(own_operators())
        library._destroy()
    assert own[0] != own[1]


def test_what_torch_registers_late() -> None:
    torch.vmap(torch.sin)(torch.ones(2))
    assert torch._functorch.predispatch.VMAP_DECOMPOSITIONS_LIB is not None
    assert not [key for key in own_operators() if key.endswith("/FuncTorchBatched")]
