"""The layout of tensors in the store: a second process does not search for it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import _capture
import pytest

from cache.store import KernelStore

RESTORE = """
import sys
import _capture, torch
from cache.store import KernelStore
from codegen.stored import layout_of_tensors

searched = []
calibrate = _capture.calibrate
def watched(*known):
    searched.append(not known)
    return calibrate(*known)
_capture.calibrate = watched
layout_of_tensors.restore(KernelStore(sys.argv[1]), "version")
layout_of_tensors.restore(KernelStore(sys.argv[1]), "version")
tensor = torch.zeros(2, 3, requires_grad=True)
info = _capture.tensor_info(tensor)
assert (info["sizes"], info["requires_grad"], info["data_ptr"]) == ((2, 3), True, tensor.data_ptr())
print(searched, sorted(_capture.tensor_layout().items()))
"""


def restored(folder: Path) -> tuple[str, str]:
    """What was asked of `calibrate` (True: a search), and the layout."""
    done = subprocess.run([sys.executable, "-c", RESTORE, str(folder)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    asked, layout = done.stdout.split(" [", 1)
    return asked, layout


def test_a_second_process_does_not_search(tmp_path: Path) -> None:
    first, second = restored(tmp_path), restored(tmp_path)
    assert (first[0], second[0]) == ("[True]", "[False]")
    assert first[1] == second[1]


DAMAGES = ["", "[]", "{}", "null", "[" * 100_000, '{"storage": "16"}']


@pytest.mark.parametrize(
    "content", [*DAMAGES, None], ids=[*map(repr, range(len(DAMAGES))), "a place too far"]
)
def test_what_is_no_layout_is_refused(content: str | None, tmp_path: Path) -> None:
    parts = ("layout of tensors", str(_capture.torch_build()), "version")
    _capture.calibrate()
    far = json.dumps(_capture.tensor_layout() | {"numel": 4096})
    KernelStore(tmp_path).put(parts, (far if content is None else content).encode(), "layout")
    assert restored(tmp_path)[0].endswith("True]")
    assert restored(tmp_path)[0] == "[False]"
