"""Native code reads the same of a tensor as torch, by offsets and by accessors.

Also new tensors and views, and the state of the thread.
"""

from __future__ import annotations

import gc
import os
import subprocess
import sys
import threading
import weakref
from collections.abc import Iterator
from typing import Any

import _capture
import pytest
import torch

from guards.properties.global_state import DTYPE_CODES, read_global_state
from guards.properties.tensor import TensorProperties, storage_key


@pytest.fixture(params=["offsets", "accessors"], autouse=True)
def mode(request: pytest.FixtureRequest) -> Iterator[str]:
    assert _capture.calibrate(request.param == "accessors") == request.param
    yield request.param
    assert _capture.calibrate(False) == "offsets"


def _with_grad(retain: bool) -> torch.Tensor:
    tensor = torch.ones(3, requires_grad=True)
    middle = tensor * 2
    if retain:
        middle.retain_grad()
    middle.sum().backward()
    return middle if retain else tensor


def _inference() -> torch.Tensor:
    with torch.inference_mode():
        return torch.ones(2)


TENSORS: dict[str, Any] = {
    "contiguous": lambda: torch.ones(2, 3),
    "transposed": lambda: torch.ones(4, 5).t(),
    "offset": lambda: torch.ones(10)[3:7:2],
    "expanded": lambda: torch.ones(3, 1).expand(3, 4),
    "scalar": lambda: torch.tensor(3.5),
    "empty": lambda: torch.ones(0, 4),
    "five dims": lambda: torch.ones(1, 2, 3, 4, 5),
    "six dims": lambda: torch.ones(1, 2, 3, 4, 5, 6)[:, 1:],
    "leaf": lambda: torch.ones(2, requires_grad=True),
    "not a leaf": lambda: torch.ones(2, requires_grad=True) * 2,
    "no longer": lambda: torch.ones(2, requires_grad=True).requires_grad_(False),
    "view": lambda: torch.ones(4, requires_grad=True)[1:],
    "with grad": lambda: _with_grad(False),
    "retained grad": lambda: _with_grad(True),
    "parameter": lambda: torch.nn.Parameter(torch.ones(2)),
    "inference": _inference,
    "conjugate": lambda: torch.ones(2, dtype=torch.complex64).conj(),
    "meta": lambda: torch.ones(2, device="meta"),
    "numpy": lambda: torch.from_numpy(__import__("numpy").ones(5))[1:],
    "channels last": lambda: torch.ones(2, 3, 4, 5).to(memory_format=torch.channels_last),
}
DENSE_DTYPES = [
    dtype
    for dtype in DTYPE_CODES
    if dtype.itemsize and not str(dtype).startswith(("torch.q", "torch.bits", "torch.int1", "torch.uint"))
]


@pytest.mark.parametrize("name", TENSORS)
def test_reads_as_torch_says(name: str) -> None:
    tensor = TENSORS[name]()
    info = _capture.tensor_info(tensor)
    properties = TensorProperties.of(tensor, (), True)
    assert info["sizes"] == tuple(tensor.shape)
    assert info["strides"] == tensor.stride()
    assert (info["ndim"], info["numel"], info["storage_offset"]) == (
        tensor.dim(),
        tensor.numel(),
        tensor.storage_offset(),
    )
    assert info["dtype"] == DTYPE_CODES[tensor.dtype]
    assert (info["device_type"] | (info["device_index"] & 0xFF) << 8) == properties.device_bits
    assert info["dispatch_keys"] == properties.dispatch_keys
    assert (info["requires_grad"], info["is_leaf"]) == (tensor.requires_grad, tensor.is_leaf)
    assert info["storage_key"] == storage_key(tensor)
    if tensor.device.type == "cpu":
        assert info["data_ptr"] == tensor.data_ptr()
    if not tensor.is_inference():
        assert info["version"] == tensor._version
    assert info["grad"] is (tensor.grad if tensor.is_leaf or tensor.retains_grad else None)
    assert info["is_plain"] == (name not in ("conjugate", "meta"))


@pytest.mark.parametrize("dtype", [d for d in DTYPE_CODES if "complex32" not in str(d)], ids=str)
def test_dtype_codes(dtype: torch.dtype) -> None:
    try:
        tensor = torch.empty(2, dtype=dtype)
    except (RuntimeError, TypeError) as error:
        pytest.skip(str(error).splitlines()[0])
    assert _capture.tensor_info(tensor)["dtype"] == DTYPE_CODES[dtype]


@pytest.mark.parametrize(
    "dtype",
    [torch.uint8, torch.int16, torch.float32, torch.float64, torch.bool, torch.bfloat16, torch.complex128],
    ids=str,
)
def test_data_ptr_counts_elements(dtype: torch.dtype) -> None:
    tensor = torch.zeros(9, dtype=dtype)[4:]
    assert _capture.tensor_info(tensor)["data_ptr"] == tensor.data_ptr()


def test_a_grad_without_python_object_is_found() -> None:
    leaf = torch.ones(3, requires_grad=True)
    (leaf * 3).sum().backward()
    gc.collect()
    grad = _capture.tensor_info(leaf)["grad"]
    assert grad is leaf.grad
    assert grad.tolist() == [3.0, 3.0, 3.0]


def test_no_warning_for_the_grad_of_an_inner_tensor(recwarn: pytest.WarningsRecorder) -> None:
    inner = torch.ones(3, requires_grad=True) * 2
    assert _capture.tensor_info(inner)["grad"] is None
    assert not recwarn.list


def test_bump_version() -> None:
    tensor = torch.ones(2)
    before = tensor._version
    _capture.tensor_bump_version(tensor)
    assert tensor._version == before + 1
    leaf = torch.ones(2, requires_grad=True)
    squared = leaf * 1
    result = (squared * squared).sum()
    _capture.tensor_bump_version(squared)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        result.backward()
    _capture.tensor_bump_version(_inference())


@pytest.mark.parametrize("value", [3, None, "x", torch.float32], ids=repr)
def test_wants_a_tensor(value: Any) -> None:
    with pytest.raises(TypeError, match=r"expected a torch\.Tensor"):
        _capture.tensor_info(value)


def test_new_strided() -> None:
    tensor = _capture.tensor_new_strided(DTYPE_CODES[torch.float64], (2, 3), (1, 2))
    assert (tuple(tensor.shape), tensor.stride(), tensor.dtype, type(tensor)) == (
        (2, 3),
        (1, 2),
        torch.float64,
        torch.Tensor,
    )
    assert not tensor.requires_grad and tensor._version == 0 and tensor._base is None
    tensor.fill_(2)
    assert tensor.sum() == 12
    assert _capture.tensor_new_strided(DTYPE_CODES[torch.bool], (), ()).shape == ()


def test_new_tensors_are_freed() -> None:
    tensor = _capture.tensor_new_strided(6, (4,), (1,))
    assert sys.getrefcount(tensor) == 2
    dead = weakref.ref(tensor)
    del tensor
    assert dead() is None
    before = torch.ones(1)  # keeps the allocator warm
    for _ in range(2000):
        _capture.tensor_new_strided(6, (100_000,), (1,))  # 800 MB if none were freed
    assert before.item() == 1


def test_an_impossible_tensor_is_an_error() -> None:
    with pytest.raises(RuntimeError, match="could not allocate"):
        _capture.tensor_new_strided(6, (1 << 60,), (1,))
    with pytest.raises(ValueError, match="1 sizes and 2 strides"):
        _capture.tensor_new_strided(6, (1,), (1, 1))


def test_views_are_views() -> None:
    base = torch.arange(12.0).reshape(3, 4).clone()
    view = _capture.tensor_as_view(base, (4, 3), (1, 4), 0)
    assert view._base is base and torch.equal(view, base.t())
    view.add_(1)
    assert base[0, 0] == 1 and base._version == view._version == 1
    leaf = torch.ones(4, requires_grad=True)
    _capture.tensor_as_view(leaf, (2,), (2,), 1).sum().backward()
    assert leaf.grad is not None and leaf.grad.tolist() == [0, 1, 0, 1]
    with pytest.raises(RuntimeError):
        _capture.tensor_as_view(base, (100,), (1,), 0)


def _unsigned(state: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(value % (1 << 64) for value in state)


STATES: dict[str, Any] = {
    "plain": torch.enable_grad,
    "no grad": torch.no_grad,
    "inference": torch.inference_mode,
    "autocast": lambda: torch.autocast("cpu", torch.bfloat16),
    "autocast without cache": lambda: torch.autocast("cpu", torch.float16, cache_enabled=False),
    "no torch function": torch._C.DisableTorchFunctionSubclass,
    "nothing of torch function": torch._C.DisableTorchFunction,
    "below autograd": torch._C._AutoDispatchBelowAutograd,
}


@pytest.mark.parametrize("name", STATES)
def test_global_state(name: str) -> None:
    with STATES[name]():
        assert _unsigned(_capture.global_state()) == tuple(read_global_state())


def test_global_state_is_per_thread() -> None:
    seen: list[Any] = []

    def other() -> None:
        seen.append((_unsigned(_capture.global_state()), tuple(read_global_state())))

    with torch.no_grad():
        thread = threading.Thread(target=other)
        thread.start()
        thread.join()
    assert seen[0][0] == seen[0][1]
    assert seen[0][0][0] == 1


def test_calibration_finds_everything() -> None:
    assert _capture.tensor_layout()["problem"] is None


@pytest.mark.parametrize(
    "setup",
    [
        "torch.set_default_dtype(torch.float64)",
        "torch.set_grad_enabled(False)",
        "torch.inference_mode().__enter__()",
        "torch.set_default_device('meta')",
    ],
)
def test_calibration_in_any_state(setup: str) -> None:
    code = (
        f"import torch, _capture; {setup}; "
        "assert _capture.calibrate() == 'offsets', _capture.tensor_layout(); "
        "print('torch._dynamo' in __import__('sys').modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout == "False\n", done.stderr


def test_calibration_in_memory_that_was_used_before() -> None:
    """What was freed lies between and behind the fields of tensors: it fits some samples by chance."""
    code = (
        "import torch, _capture\n"
        "for _ in range(200):\n"
        "    _capture.calibrate(True)\n"
        "    assert _capture.calibrate() == 'offsets', _capture.tensor_layout()\n"
    )
    memory = {"PYTHONMALLOC": "malloc", "MALLOC_PERTURB_": "1"}
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env=os.environ | memory
    )
    assert done.returncode == 0, done.stderr
