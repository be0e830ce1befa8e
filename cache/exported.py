"""Exported functions as callables of tensors, in any process.

In:  a folder that `capture.export` has written.
Out: `Loaded`: it checks its tensors, calls the library and gives the result in the form of the program.

    from cache.exported import load        # or capture.load: the same function
    f = load("build/model");  f(x)

It needs torch alone, neither the program's code nor LLVM. A library is executed: it is loaded only if nobody
else could have written it (`cache.trusted_folder`), and if its checksum is that of the manifest.
"""

from __future__ import annotations

import ctypes
import hashlib
import json
import math
import os
import platform
from collections.abc import Callable, Mapping
from typing import Any

import torch

from cache.trusted_folder import Refused, TrustedFolder

FORMAT = 2
ALIGNMENT = 64
MACHINES = {"x86_64": "x86-64", "aarch64": "aarch64", "armv7l": "armv7", "riscv64": "riscv64"}
#: flags of /proc/cpuinfo that code for a level of processors uses
NEEDED = {
    "x86-64": (),
    "x86-64-v2": ("sse4_2", "popcnt"),
    "x86-64-v3": ("avx2", "fma", "f16c", "bmi2"),
    "x86-64-v4": ("avx2", "fma", "f16c", "bmi2", "avx512f", "avx512bw", "avx512dq", "avx512vl"),
}


class LoadError(ValueError):
    """A folder is no exported function that this process can run. The text says why."""


def load(folder: str) -> Loaded:
    """The function of a folder that `Exported.save` has written.

    Errors: LoadError where a file is missing, damaged or foreign, where others could have written it, where
    the code is for another machine.
    """
    path = os.path.abspath(os.fspath(folder))
    try:
        with TrustedFolder.at(path) as files:
            content = _manifest(folder, files)
            name = f"lib{content['function']['name']}.so"
            _check_machine(folder, content["machine"])
            if content["cblas"]:
                raise LoadError(f"{folder} calls cblas: it is for C programs. Export without it to load it")
            if name not in content["files"]:
                raise LoadError(f"{folder} has no {name}: there was no compiler; export again where one is")
            library = _library(folder, files, name, content["files"][name])
    except Refused as error:
        raise LoadError(f"{error.path} is not loaded: {error.found} (docs/trust.md)") from None
    except OSError as error:
        raise LoadError(f"{folder} can't be loaded: {error}") from None
    return Loaded(content, library)


def _manifest(folder: str, files: TrustedFolder) -> dict[str, Any]:
    try:
        outer = json.loads(files.read("manifest.json"))
        content: dict[str, Any] = outer["content"]
        text = json.dumps(content, indent=1)
        if hashlib.sha256(text.encode()).hexdigest() != outer["sha256"]:
            raise LoadError(f"{folder}/manifest.json is damaged: its checksum differs")
        if content["format"] != FORMAT:
            raise LoadError(f"{folder} has another format, of capture {content['capture']}: export again")
    except FileNotFoundError:
        raise LoadError(f"{folder} has no manifest.json: it is no folder of an exported function") from None
    except (KeyError, TypeError, ValueError) as error:
        if isinstance(error, LoadError):
            raise
        raise LoadError(f"{folder}/manifest.json is damaged: {type(error).__name__}: {error}") from None
    return content


def _check_machine(folder: str, machine: Mapping[str, str]) -> None:
    here = MACHINES.get(platform.machine(), platform.machine())
    if machine["name"] != here:
        raise LoadError(f"{folder} has code for {machine['triple']}; this machine is {here}")
    needed = NEEDED.get(machine["cpu"], ())
    if needed:
        missing = [flag for flag in needed if flag not in _flags()]
        if missing:
            raise LoadError(
                f"{folder} has code for {machine['cpu']}; this processor lacks {', '.join(missing)}: "
                "export for a lower cpu"
            )


def _flags() -> frozenset[str]:
    with open("/proc/cpuinfo") as file:
        for line in file:
            if line.startswith("flags"):
                return frozenset(line.split())
    return frozenset()


def _library(folder: str, files: TrustedFolder, name: str, digest: str) -> ctypes.CDLL:
    """The library, opened by the descriptor whose bytes were compared.

    The descriptor stays open: the linker knows libraries by their path, which names it.
    """
    descriptor = files.open(name)
    try:
        with open(descriptor, "rb", closefd=False) as file:
            found = hashlib.file_digest(file, "sha256").hexdigest()
        if found != digest:
            raise LoadError(
                f"{folder}/{name} is damaged or foreign: its checksum differs from the manifest's"
            )
        return ctypes.CDLL(f"/proc/self/fd/{descriptor}")
    except BaseException:
        os.close(descriptor)
        raise


# --- the callable -----------------------------------------------------------------------------------------


class Loaded:
    """An exported function. It takes the arguments of the program, by position, and computes no gradients.

    parameters: by name, where they were exported as arguments; as `model.state_dict()` has them.

    Errors: TypeError for another structure or dtype than exported, ValueError for other sizes and numbers,
    RuntimeError where a check of the function failed.
    """

    def __init__(self, content: dict[str, Any], library: ctypes.CDLL) -> None:
        function = content["function"]
        self.name: str = function["name"]
        self._form = content["arguments"]
        self._result = content["result"]
        self._count = content["argument_count"]
        self._function = getattr(library, self.name)
        self._function.restype = ctypes.c_int32
        self._arguments = [_Spec(one) for one in function["arguments"]]
        self._order: list[int] = content["order"]
        self._unread = [(one["argument"], _Spec(one)) for one in content["unread"]]
        self._sizes = function["sizes"]
        self._memories = [_Spec(one) for one in function["memories"]]
        self._results = [_Spec(one) for one in function["results"]]
        self._workspace = function["workspace"]

    def __call__(self, *args: Any, parameters: Mapping[str, torch.Tensor] | None = None) -> Any:
        given: list[Any] = [None] * self._count
        _collect(self._form, tuple(args), "the arguments", given)
        for place, spec in self._unread:
            spec.check(given[place], {}, self.name)
        tensors = []
        for spec, place in zip(self._arguments, self._order, strict=True):
            tensors.append(given[place] if place >= 0 else self._parameter(spec, parameters))
        self._check_gradients(tensors)
        sizes = self._sizes_of(tensors)
        tensors = [spec.checked(tensor, sizes, self.name) for spec, tensor in zip(self._arguments, tensors)]
        self._check_overlap(tensors)
        memories = [spec.empty(sizes) for spec in self._memories]
        workspace = torch.empty(number(self._workspace, sizes) + ALIGNMENT, dtype=torch.uint8)
        start = -(-workspace.data_ptr() // ALIGNMENT) * ALIGNMENT
        status = self._function(
            *(ctypes.c_void_p(tensor.data_ptr()) for tensor in tensors),
            *(ctypes.c_int64(size) for size in sizes.values()),
            *(ctypes.c_void_p(memory.data_ptr()) for memory in memories),
            ctypes.c_void_p(start),
        )
        if status:
            raise RuntimeError(f"{self.name}: check {status} failed: an index out of range, or an assertion")
        return rebuilt(self._result, lambda place: self._view(place, tensors, memories, sizes))

    def _parameter(self, spec: _Spec, parameters: Mapping[str, torch.Tensor] | None) -> torch.Tensor:
        if parameters is None or spec.path not in parameters:
            raise TypeError(
                f"{self.name} needs the parameter {spec.path!r}: give parameters=model.state_dict()"
            )
        return parameters[spec.path]

    def _check_gradients(self, tensors: list[torch.Tensor]) -> None:
        if torch.is_grad_enabled() and any(tensor.requires_grad for tensor in tensors):
            raise RuntimeError(f"{self.name} computes no gradients: call it under torch.no_grad()")

    def _sizes_of(self, tensors: list[torch.Tensor]) -> dict[str, int]:
        found: dict[str, int] = {}
        for size in self._sizes:
            tensor, spec = tensors[size["argument"]], self._arguments[size["argument"]]
            if tensor.dim() != len(spec.shape):
                raise ValueError(
                    f"{self.name}: {spec.path} has {tensor.dim()} dims; exported: {len(spec.shape)}"
                )
            found[size["name"]] = value = tensor.shape[size["dim"]]
            if not size["least"] <= value <= size["most"]:
                raise ValueError(
                    f"{self.name}: dim {size['dim']} of {spec.path} is {value}; exported were "
                    f"{size['least']} to {size['most']}"
                )
        return found

    def _check_overlap(self, tensors: list[torch.Tensor]) -> None:
        for spec, tensor in zip(self._arguments, tensors):
            if not spec.written:
                continue
            begin, end = _extent(tensor)
            for other_spec, other in zip(self._arguments, tensors):
                low, high = _extent(other)
                if other is not tensor and low < end and begin < high:
                    raise ValueError(
                        f"{self.name} writes to {spec.path}, which shares memory with {other_spec.path}"
                    )
            torch.autograd.graph.increment_version(tensor)

    def _view(
        self, place: int, tensors: list[torch.Tensor], memories: list[torch.Tensor], sizes: Mapping[str, int]
    ) -> torch.Tensor:
        spec = self._results[place]
        base = (memories if spec.source == "memory" else tensors)[spec.place]
        shape, strides = spec.layout(sizes)
        offset = number(spec.offset, sizes)
        if offset == 0 and base.shape == shape and base.stride() == strides:
            return base
        return torch.as_strided(base, shape, strides, base.storage_offset() + offset)

    def __repr__(self) -> str:
        return f"<loaded {self.name}>"


class _Spec:
    """A tensor of the manifest."""

    def __init__(self, plain: Mapping[str, Any]) -> None:
        self.path: str = plain.get("path", "")
        self.dtype: torch.dtype = getattr(torch, plain["dtype"])
        self.shape: list[Any] = plain["shape"]
        self.strides: list[Any] = plain["strides"]
        self.written: bool = plain.get("written", False)
        self.source: str = plain.get("source", "")
        self.place: int = plain.get("place", 0)
        self.offset: Any = plain.get("offset", 0)
        numbers = [*self.shape, *self.strides]
        self._fixed = all(type(n) is int for n in numbers) and (tuple(self.shape), tuple(self.strides))

    def layout(self, sizes: Mapping[str, int]) -> tuple[tuple[int, ...], tuple[int, ...]]:
        return self._fixed or (
            tuple(number(size, sizes) for size in self.shape),
            tuple(number(stride, sizes) for stride in self.strides),
        )

    def empty(self, sizes: Mapping[str, int]) -> torch.Tensor:
        shape, strides = self.layout(sizes)
        return torch.empty_strided(shape, strides, dtype=self.dtype)

    def check(self, tensor: torch.Tensor, sizes: Mapping[str, int], name: str) -> None:
        """Raises TypeError or ValueError for a tensor of another dtype or shape than exported."""
        if tensor.dtype is not self.dtype:
            raise TypeError(f"{name}: {self.path} is {tensor.dtype}; exported was {self.dtype}")
        if tensor.device.type != "cpu" or tensor.layout is not torch.strided:
            raise TypeError(f"{name}: {self.path} is no dense tensor on the CPU")
        shape, _ = self.layout(sizes)
        if tensor.shape != shape:
            raise ValueError(
                f"{name}: {self.path} has the sizes {list(tensor.shape)}; exported: {list(shape)}"
            )

    def checked(self, tensor: torch.Tensor, sizes: Mapping[str, int], name: str) -> torch.Tensor:
        """The tensor in the layout of the export: itself, or a copy if it is only read."""
        self.check(tensor, sizes, name)
        shape, strides = self.layout(sizes)
        same = all(
            found == wanted or size == 1 for found, wanted, size in zip(tensor.stride(), strides, shape)
        )
        plain = not tensor.is_conj() and not tensor.is_neg()
        if (same or tensor.numel() == 0) and plain and tensor.data_ptr() % self.dtype.itemsize == 0:
            return tensor
        if self.written:
            raise ValueError(
                f"{name} writes to {self.path}, whose strides are {tensor.stride()}; exported were {strides}"
            )
        return torch.empty_strided(shape, strides, dtype=self.dtype).copy_(tensor)


def _extent(tensor: torch.Tensor) -> tuple[int, int]:
    """The addresses of the first byte and of the one behind the last."""
    begin = tensor.data_ptr()
    if tensor.numel() == 0:
        return begin, begin
    last = sum((size - 1) * stride for size, stride in zip(tensor.shape, tensor.stride()))
    return begin, begin + (last + 1) * tensor.element_size()


ARITHMETIC: dict[str, Callable[[int, int], int]] = {
    "add": lambda left, right: left + right,
    "mul": lambda left, right: left * right,
    "floordiv": lambda left, right: left // right,
    "mod": lambda left, right: left % right,
    "min": min,
    "max": max,
}


def number(plain: Any, sizes: Mapping[str, int]) -> int:
    """A number of the manifest: an int, the name of a size, or [operation, left, right]."""
    if isinstance(plain, int):
        return plain
    if isinstance(plain, str):
        return sizes[plain]
    operation, left, right = plain
    return ARITHMETIC[operation](number(left, sizes), number(right, sizes))


def _collect(form: Mapping[str, Any], value: Any, path: str, tensors: list[Any]) -> None:
    """The tensors of the value, by their number in the form."""
    ((kind, content),) = form.items()
    if kind == "tensor":
        if not isinstance(value, torch.Tensor):
            raise TypeError(f"{path}: expected a tensor, found a {type(value).__name__}")
        tensors[content] = value
    elif kind == "value":
        if type(value) is not type(content) or not _equal(value, content):
            raise ValueError(f"{path}: exported for {content!r}, found {value!r}")
    elif kind == "dict":
        if not isinstance(value, dict) or value.keys() != content.keys():
            raise TypeError(f"{path}: expected a dict with the keys {', '.join(content)}")
        for key, item in content.items():
            _collect(item, value[key], f"{path}[{key!r}]", tensors)
    else:
        kinds = list if kind == "list" else tuple
        if not isinstance(value, kinds) or len(value) != len(content):
            found = f"{len(value)}" if isinstance(value, kinds) else f"a {type(value).__name__}"
            raise TypeError(f"{path}: expected {len(content)} in a {kind}, found {found}")
        for place, item in enumerate(content):
            _collect(item, value[place], f"{path}[{place}]", tensors)


def _equal(left: Any, right: Any) -> bool:
    if isinstance(left, float) and left == right:
        return math.copysign(1, left) == math.copysign(1, right)
    return bool(left == right) or (left != left and right != right)


def rebuilt(form: Mapping[str, Any], tensor: Callable[[int], Any]) -> Any:
    """A value of that form, with `tensor(i)` in place of tensor number i."""
    ((kind, content),) = form.items()
    if kind == "tensor":
        return tensor(content)
    if kind == "value":
        return content
    if kind == "dict":
        return {key: rebuilt(item, tensor) for key, item in content.items()}
    items = [rebuilt(item, tensor) for item in content]
    return items if kind == "list" else tuple(items)
