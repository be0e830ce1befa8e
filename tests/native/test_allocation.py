"""What torch frees was allocated by the function that belongs to the one it frees with.

torch's destructors call operator delete. A program may have its own (an allocator, a sanitizer). Here it is
one that keeps a mark in front of each piece of memory, and ends the process where the mark is missing.
"""

from __future__ import annotations

import os
import shutil
import subprocess

import pytest

MARKING = r"""
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

#define MARK 0x6e65772065726568u

void *_Znwm(size_t bytes)
{
    uint64_t *memory = malloc(bytes + 16);
    if (memory == NULL) {
        abort();
    }
    memory[0] = MARK;
    return memory + 2;
}
void *_ZnwmRKSt9nothrow_t(size_t bytes, const void *nothrow)
{
    return _Znwm(bytes);
}
void _ZdlPv(void *pointer)
{
    static const char text[] = "operator delete of what operator new has not made\n";
    uint64_t *memory = pointer;
    if (memory != NULL && memory[-2] != MARK) {
        (void)!write(2, text, sizeof text - 1);
        _exit(3);
    }
    if (memory != NULL) {
        memory[-2] = 0;
        free(memory - 2);
    }
}
void _ZdlPvm(void *pointer, size_t bytes)
{
    _ZdlPv(pointer);
}
void _ZdlPvRKSt9nothrow_t(void *pointer, const void *nothrow)
{
    _ZdlPv(pointer);
}
"""

TRAINING = """
import torch, _capture, capture
def f(x, w):
    y = torch.tanh(x @ w)
    return y, y.exp() * x.sum(), (y + 1).sin()  # three results: more than a node has room for
x, w = (torch.randn(4, 4, requires_grad=True) for _ in range(2))
fast = capture.compile(f)
for step in range(4):
    sum(r.sum() for r in fast(x, w)).backward()
    fast(x, w)  # a node that never runs
    fast(x, w)[1].sum().backward(create_graph=True)
print(_capture.autograd_nodes_native(), capture.counters["graphs"]["compiled"])
"""


@pytest.mark.skipif(shutil.which("gcc") is None, reason="gcc makes the library with an operator new")
@pytest.mark.skipif(
    "ASAN_OPTIONS" in os.environ, reason="the sanitizer has an operator new, and looks itself"
)
def test_nodes_are_freed_by_the_program_s_operator_delete(tmp_path, in_process):
    source, library = tmp_path / "marking.c", tmp_path / "marking.so"
    source.write_text(MARKING)
    command = ["gcc", "-shared", "-fPIC", "-O1", "-o", str(library), str(source)]
    subprocess.run(command, check=True, env={"PATH": "/usr/bin:/bin"})
    assert in_process(TRAINING, LD_PRELOAD=str(library)).startswith("True 1")
