"""What a trace file says of its process.

In:  the running process.
Out: the fields of the events `process`, `memory` and `end`.
"""

from __future__ import annotations

import functools
import os
import platform
import resource
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict

import llvmlite
import numpy
import torch

from capture.report.config import config
from capture.report.counters import counters
from capture.report.versions import CAPTURE
from capture.tracing.places import Form
from codegen.llvm.target import Target

SCHEMA = 1


def process_form(show: Sequence[str]) -> Form:
    return {
        "schema": SCHEMA,
        "pid": os.getpid(),
        "parent_pid": os.getppid(),
        "argv": list(sys.argv),
        "folder": os.getcwd(),
        "started": time.time(),
        "versions": {"capture": CAPTURE, "python": platform.python_version(), **_versions()},
        "platform": platform.platform(),
        "cpu": {
            "level": Target.host().cpu,
            "model": _cpu_model(),
            "count": os.cpu_count(),
            "threads": torch.get_num_threads(),
        },
        "settings": asdict(config),
        "environment": {name: value for name, value in os.environ.items() if name.startswith("CAPTURE_")},
        "show": list(show),
    }


def memory_form() -> Form:
    with open("/proc/self/statm") as statm:
        resident = int(statm.read().split()[1]) * resource.getpagesize()
    return {"resident": resident, "peak": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024}


def end_form(seconds: float, processor: float, copied: float | None) -> Form:
    return {
        "seconds": seconds,
        "processor": processor,
        "copy_bandwidth": copied,
        "counters": {group: dict(counts) for group, counts in counters.items()},
    }


def _versions() -> dict[str, str]:
    return {module.__name__: str(module.__version__) for module in (torch, numpy, llvmlite)}


@functools.cache
def _cpu_model() -> str:
    with open("/proc/cpuinfo") as info:
        names = [line.split(":", 1)[1].strip() for line in info if line.startswith("model name")]
    return names[0] if names else platform.processor()
