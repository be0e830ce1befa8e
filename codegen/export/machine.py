"""The machines that code can be written for.

In:  a name or an LLVM triple; a processor; features of LLVM ("+neon").
Out: `Machine`: what LLVM has to know, and the `Target` of the emitter.

    machine_of("aarch64").triple          ->   "aarch64-unknown-linux-gnu"
    machine_of("x86-64", "x86-64-v3")     ->   vectors of 32 bytes, fused multiply-add

Elementary functions that have no form of our own call libm, never the vector functions of libtorch.
"""

from __future__ import annotations

import dataclasses
import platform
import re
from collections.abc import Sequence

from capture_records import dataclass
from codegen.llvm.target import LEVELS, Target


class UnknownMachine(ValueError):
    """There is no such target, processor or feature. The text names those that there are."""


@dataclass(frozen=True, slots=True)
class Machine:
    """`abi`: LLVM's name of the calling convention, "" for the usual one. `target`: for the emitter."""

    name: str
    triple: str
    cpu: str
    features: str
    abi: str
    target: Target

    @property
    def pointer_bytes(self) -> int:
        return self.target.pointer_bytes

    @property
    def is_wasm(self) -> bool:
        return self.name == "wasm32"


@dataclass(frozen=True, slots=True)
class Architecture:
    """A row of the table. `targets`: by processor; the first is the default. `features`: always on."""

    triple: str
    targets: dict[str, Target]
    features: tuple[str, ...] = ()
    known: tuple[str, ...] = ()
    abi: str = ""


def _same(target: Target, *names: str) -> dict[str, Target]:
    return dict.fromkeys(names, target)


_AARCH64 = LEVELS["aarch64"]
_ARM = Target("generic", 16, None, fma=False, f16c=False, avx512=False, architecture="arm", pointer_bytes=4)
_RISCV = Target("generic-rv64", 16, None, fma=True, f16c=False, avx512=False, architecture="riscv64")
_WASM = Target(
    "generic", 16, None, fma=False, f16c=False, avx512=False, architecture="wasm32", pointer_bytes=4
)

ARCHITECTURES: dict[str, Architecture] = {
    "x86-64": Architecture(
        "x86_64-unknown-linux-gnu",
        {
            name: dataclasses.replace(level, sleef=None)
            for name, level in LEVELS.items()
            if level.architecture == "x86_64"
        },
        known=("avx", "avx2", "avx512f", "avx512bw", "avx512dq", "avx512vl", "bmi2", "f16c", "fma", "sse4.2"),
    ),
    "aarch64": Architecture(
        "aarch64-unknown-linux-gnu",
        _same(_AARCH64, "generic", "cortex-a53", "cortex-a72", "cortex-a76", "neoverse-n1", "neoverse-v1"),
        known=("neon", "fullfp16", "dotprod", "sve", "sve2", "lse"),
    ),
    # Vectors of NEON flush small numbers to zero on ARMv7; without them each lane is computed by VFP.
    "armv7": Architecture(
        "armv7-unknown-linux-gnueabihf",
        _same(_ARM, "generic", "cortex-a7", "cortex-a8", "cortex-a9", "cortex-a15"),
        features=("+vfp3", "-neon"),
        known=("neon", "vfp3", "vfp4"),
    ),
    "riscv64": Architecture(
        "riscv64-unknown-linux-gnu",
        _same(_RISCV, "generic-rv64", "sifive-u74"),
        features=("+m", "+a", "+f", "+d", "+c"),
        known=("m", "a", "f", "d", "c", "v", "zba", "zbb"),
        abi="lp64d",
    ),
    "wasm32": Architecture(
        "wasm32-unknown-unknown",
        _same(_WASM, "generic", "mvp", "bleeding-edge"),
        features=("+simd128",),
        known=("simd128", "relaxed-simd", "bulk-memory", "nontrapping-fptoint", "sign-ext"),
    ),
}

#: the first part of a triple, and the names of platform.machine() -> name in the table
SPELLINGS = {
    "x86_64": "x86-64", "amd64": "x86-64", "x86-64": "x86-64", "aarch64": "aarch64", "arm64": "aarch64",
    "armv7": "armv7", "armv7a": "armv7", "armv7l": "armv7", "arm": "armv7", "riscv64": "riscv64",
    "wasm32": "wasm32",
}  # fmt: skip
SYSTEMS = ("linux", "none", "unknown")


def machine_of(
    target: str | None = None, cpu: str | None = None, features: str | Sequence[str] = ()
) -> Machine:
    """The machine of that name or triple; without names this machine, for its level of processors.

    Raises UnknownMachine.
    """
    name, triple = _architecture(target)
    row = ARCHITECTURES[name]
    if cpu is None:
        host = Target.host() if target is None else None
        cpu = host.cpu if host is not None and host.cpu in row.targets else next(iter(row.targets))
    if cpu not in row.targets:
        raise UnknownMachine(f"unknown processor {cpu!r} of {name}: expected one of {', '.join(row.targets)}")
    wanted = _features(name, features)
    return Machine(name, triple, cpu, ",".join([*row.features, *wanted]), row.abi, row.targets[cpu])


def _architecture(target: str | None) -> tuple[str, str]:
    """The name in the table, and the triple."""
    text = platform.machine() if target is None else target
    first, *rest = text.split("-") if text not in ARCHITECTURES else [text]
    name = SPELLINGS.get(first)
    if name is None:
        raise UnknownMachine(
            f"unknown target {text!r}: expected one of {', '.join(ARCHITECTURES)}, or a triple"
        )
    if not rest:
        return name, ARCHITECTURES[name].triple
    if not any(part in SYSTEMS for part in rest):
        raise UnknownMachine(f"the target {text!r} is no Linux: objects are ELF files or WebAssembly modules")
    return name, text


def _features(name: str, features: str | Sequence[str]) -> list[str]:
    given = features.split(",") if isinstance(features, str) else list(features)
    wanted = [feature.strip() for feature in given if feature.strip()]
    known = ARCHITECTURES[name].known
    for feature in wanted:
        if not re.fullmatch(r"[+-][\w.-]+", feature) or feature[1:] not in known:
            listed = ", ".join(f"+{one}" for one in known)
            raise UnknownMachine(
                f"unknown feature {feature!r} of {name}: expected + or - before one of {listed}"
            )
    return wanted
