"""What the emitter knows about the processor.

In:  the environment variable CAPTURE_CPU (a level name), else the host's features.
Out: `Target`: vector width, the Sleef variant that fits, LLVM's name of the level.

    Target.level("x86-64-v4").lanes("f32") -> 16

Code is generated for a level, not for the exact processor: stored machine code then serves every machine of
that level.
"""

from __future__ import annotations

import os
import platform
from collections.abc import Mapping
from functools import cache

from capture_records import dataclass
from codegen.llvm.types import SIZES


@dataclass(frozen=True, slots=True)
class Target:
    """A level of processors.

    `vector_bytes`: bytes of the widest register. `sleef`: suffix of the Sleef functions in libtorch_cpu for
    that width; None if there are none. `fma`: fused multiply-add is one instruction. `f16c`: conversions of
    half precision are one instruction. `avx512`: masks are registers. `architecture`: its name in
    platform.machine().
    """

    cpu: str
    vector_bytes: int
    sleef: str | None
    fma: bool
    f16c: bool
    avx512: bool
    architecture: str = "x86_64"
    pointer_bytes: int = 8

    @staticmethod
    def level(name: str) -> Target:
        """The target of that level; the ValueError names the existing levels."""
        if name not in LEVELS:
            raise ValueError(f"unknown processor level {name!r}: expected one of {', '.join(LEVELS)}")
        return LEVELS[name]

    @staticmethod
    def host() -> Target:
        """The level that CAPTURE_CPU names, else the best level that this processor has.

        ValueError: the level does not exist, or this processor lacks some of its instructions.
        """
        name = os.environ.get("CAPTURE_CPU")
        return _named(name) if name else _detect()

    def lanes(self, dtype: str) -> int:
        """Elements of `dtype` in a register. Half precision is computed in f32."""
        return self.vector_bytes // (4 if dtype in ("bf16", "f16") else SIZES[dtype])

    def attributes(self, only_reads: bool = False) -> str:
        """Function attributes that set the vector width.

        Without them LLVM prefers 256-bit registers on AVX-512 processors (1.5 times slower). Kernels that
        only read memory want 256 bits (`codegen.llvm.streaming`).
        """
        if self.architecture != "x86_64":
            return "nounwind"
        bits = min(self.vector_bytes * 8, 256 if only_reads else 512)
        return f'nounwind "min-legal-vector-width"="{bits}" "prefer-vector-width"="{bits}"'


LEVELS = {
    "x86-64": Target("x86-64", 16, None, fma=False, f16c=False, avx512=False),
    "x86-64-v2": Target("x86-64-v2", 16, None, fma=False, f16c=False, avx512=False),
    "x86-64-v3": Target("x86-64-v3", 32, "avx2", fma=True, f16c=True, avx512=False),
    "x86-64-v4": Target("x86-64-v4", 64, "avx512f", fma=True, f16c=True, avx512=True),
    # NEON. No Sleef: nobody has looked up on such a machine which of its functions libtorch exports.
    "aarch64": Target("generic", 16, None, fma=True, f16c=True, avx512=False, architecture="aarch64"),
}

_ARM = {"aarch64", "arm64"}  # platform.machine() on Linux and on macOS

# The features that each level of x86-64 adds to those above it in the table, in LLVM's names (features that
# the emitted code can use).
_ADDED: dict[str, tuple[str, ...]] = {
    "x86-64": (),
    "x86-64-v2": ("popcnt", "sse3", "sse4.1", "sse4.2", "ssse3"),
    "x86-64-v3": ("avx", "avx2", "bmi", "bmi2", "f16c", "fma", "lzcnt", "movbe"),
    "x86-64-v4": ("avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"),
}


def _missing(level: str, features: Mapping[str, bool]) -> list[str]:
    """The features of that level of x86-64 that are not among a processor's `features`."""
    names = list(_ADDED)
    needed = [feature for name in names[: names.index(level) + 1] for feature in _ADDED[name]]
    return [feature for feature in needed if not features.get(feature)]


def _host_features() -> Mapping[str, bool]:
    from llvmlite.binding import get_host_cpu_features  # lazy: it loads LLVM

    found: Mapping[str, bool] = get_host_cpu_features()
    return found


@cache
def _detect() -> Target:
    if platform.machine() in _ARM:
        return LEVELS["aarch64"]
    features = _host_features()
    return LEVELS[[name for name in _ADDED if not _missing(name, features)][-1]]


@cache
def _named(name: str) -> Target:
    """The target of a level that this processor can run."""
    target, best = Target.level(name), _detect()
    if target.architecture != best.architecture:
        raise ValueError(
            f"CAPTURE_CPU={name} is no level of this {best.architecture} processor: use {best.cpu}"
        )
    if target.architecture == "x86_64" and (missing := _missing(name, _host_features())):
        raise ValueError(
            f"CAPTURE_CPU={name} needs instructions that this processor lacks ({', '.join(missing)}): "
            f"unset it or use {best.cpu}, the best level that fits"
        )
    return target
