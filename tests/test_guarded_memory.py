"""scripts/guarded_memory.py ends a process that touches what is not its own, and leaves others alone."""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(shutil.which("gcc") is None, reason="the library is compiled here"),
]

#: each runs in a child of its own; `p` and `n`: the address and the bytes of a tensor's memory
PROGRAM = """
import ctypes, gc, json, os, sys
import torch
import capture

def cut(tensor, nbytes):  # a tensor that says that it has more memory than it has
    tensor.untyped_storage().resize_(nbytes)
    return tensor

def freed():
    tensor = torch.zeros(1000)
    return tensor.data_ptr()

def twice(p, n):
    block = ctypes.CDLL(None).malloc
    block.restype = ctypes.c_void_p
    address = ctypes.c_void_p(block(1000))
    ctypes.CDLL(None).free(address)
    ctypes.CDLL(None).free(address)

def own(p, n):
    ctypes.memset(p, 0, n)
    assert fast(torch.ones(1000)).sum() == 2000

fast = capture.compile(lambda x: x + 1)
fast(torch.ones(1000))
acts = {
    "own": own,
    "read behind": lambda p, n: ctypes.string_at(p + n, 1),
    "write behind": lambda p, n: ctypes.memset(p + n, 0, 1),
    "write in front": lambda p, n: ctypes.memset(p - 1, 0, 1),
    "read freed": lambda p, n: ctypes.string_at(freed(), 1),
    "write freed": lambda p, n: ctypes.memset(freed(), 0, 1),
    "free twice": twice,
    "kernel reads behind": lambda p, n: fast(cut(torch.ones(1000), 3996)),
}
ends = {}
for name, act in acts.items():
    child = os.fork()
    if child == 0:
        tensor = torch.zeros(999)
        act(tensor.data_ptr(), tensor.numel() * 4)
        del tensor
        os._exit(0)
    status = os.waitpid(child, 0)[1]
    ends[name] = os.WTERMSIG(status) if os.WIFSIGNALED(status) else 0
print(json.dumps(ends))
"""


def ends_of(tmp_path: Path, *options: str) -> tuple[dict[str, int], str]:
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    command = [sys.executable, "scripts/guarded_memory.py", *options, str(program)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout), done.stderr


FAULT, ABORT = signal.SIGSEGV, signal.SIGABRT


def test_the_guard_behind(tmp_path: Path) -> None:
    ends, told = ends_of(tmp_path, "--alignment", "1")
    assert ends == {
        "own": 0,
        "read behind": FAULT,
        "write behind": FAULT,
        "write in front": ABORT,  # seen when it is freed
        "read freed": FAULT,
        "write freed": FAULT,
        "free twice": ABORT,
        "kernel reads behind": FAULT,
    }
    assert "touched 3996 bytes behind the begin of a block of 3996 bytes" in told
    assert "written 1 bytes before the begin of a block of 3996 bytes" in told
    assert "touched 0 bytes behind the begin of a freed block of 4000 bytes" in told


def test_the_guard_in_front(tmp_path: Path) -> None:
    ends, _ = ends_of(tmp_path, "--front")
    assert (ends["own"], ends["write in front"], ends["write behind"]) == (0, FAULT, ABORT)
