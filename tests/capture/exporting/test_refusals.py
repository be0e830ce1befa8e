"""What can't be exported or loaded is told in one sentence, and leaves nothing behind."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import torch

import capture
from capture.command_line.app import run_command
from tests.capture.exporting.c_programs import need_tools


def twice(x):
    return x * 2


def breaks(x):
    if x.sum() > 0:
        return x
    return x + 1


def sorts(x):
    y = x + 1
    return torch.linalg.qr(y)


def counts(x):
    return x.nonzero()


def test_a_graph_break_names_the_line():
    with pytest.raises(capture.ExportError, match=r"breaks is not one graph: .*test_refusals\.py:\d+\)"):
        capture.export(breaks, (torch.ones(3),))


def test_an_operator_without_native_form_names_the_line():
    line = sorts.__code__.co_firstlineno + 2
    with pytest.raises(capture.ExportError, match=rf"linalg_qr.*test_refusals\.py:{line}\)"):
        capture.export(sorts, (torch.ones(3, 3),))


def test_a_size_that_depends_on_values():
    line = counts.__code__.co_firstlineno + 1
    with pytest.raises(capture.ExportError, match=rf"nonzero.* depends on the values .*:{line}\)"):
        capture.export(counts, (torch.ones(3),))


def drops(x):
    return torch.nn.functional.dropout(x, 0.5)


def test_random_numbers():
    line = drops.__code__.co_firstlineno + 1
    with pytest.raises(capture.ExportError, match=rf"draws random numbers \(.*:{line}\).*\.eval\(\)"):
        capture.export(drops, (torch.ones(3),))


def test_a_program_that_raises_raises_its_own_error():
    with pytest.raises(RuntimeError, match="size of tensor"):
        capture.export(lambda x, y: x + y, (torch.ones(3), torch.ones(4)))


@pytest.mark.parametrize(
    "given, text",
    [
        ({"target": "z80"}, "unknown target 'z80': expected one of x86-64, aarch64"),
        ({"target": "x86_64-pc-windows-msvc"}, "ELF"),
        ({"target": "aarch64", "cpu": "pentium"}, "unknown processor 'pentium' of aarch64"),
        ({"target": "armv7", "features": "+mmx"}, r"unknown feature '\+mmx'"),
        ({"parameters": "outside"}, "'inside', 'arguments'"),
        ({"name": "not a name"}, "identifier of C"),
    ],
)
def test_wrong_arguments(given, text):
    with pytest.raises(capture.UsageError, match=text):
        capture.export(twice, (torch.ones(3),), **given)


def test_wrong_functions_and_tensors():
    with pytest.raises(capture.UsageError, match="takes a function"):
        capture.export(3, ())
    with pytest.raises(capture.UsageError, match="as a tuple"):
        capture.export(twice, torch.ones(3))
    with pytest.raises(capture.ExportError, match="plain"):
        capture.export(twice, (torch.ones(3, device="meta"),))
    with pytest.raises(capture.ExportError, match="tensors, numbers and texts"):
        capture.export(lambda x: (x + 1, object()), (torch.ones(3),))


def test_training_statistics_are_no_constants():
    with pytest.raises(capture.ExportError, match=r"writes to num_batches_tracked.*\.eval\(\)"):
        capture.export(torch.nn.BatchNorm1d(3), (torch.ones(4, 3),))


def test_an_existing_folder_and_one_that_cant_be_written(tmp_path):
    exported = capture.export(twice, (torch.ones(3),))
    (tmp_path / "here").mkdir()
    with pytest.raises(capture.ExportError, match="exists"):
        exported.save(str(tmp_path / "here"))
    (tmp_path / "file").write_text("")
    with pytest.raises(capture.ExportError, match="can't be made"):
        exported.save(str(tmp_path / "file" / "below"))
    assert sorted(os.listdir(tmp_path)) == ["file", "here"]


def test_nothing_is_left_where_writing_fails(tmp_path, monkeypatch):
    exported = capture.export(twice, (torch.ones(3),))

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("capture.exporting.folder.manifest", full)
    with pytest.raises(capture.ExportError, match="No space left"):
        exported.save(str(tmp_path / "out"))
    assert os.listdir(tmp_path) == []


@pytest.fixture(scope="module")
def saved(tmp_path_factory) -> Path:
    need_tools("x86-64")
    folder = tmp_path_factory.mktemp("saved") / "out"
    capture.export(twice, (torch.ones(3),)).save(str(folder))
    return folder


@pytest.fixture
def copied(saved, tmp_path) -> Path:
    return Path(shutil.copytree(saved, tmp_path / "copy"))


def refused(folder: Path, text: str) -> None:
    with pytest.raises(capture.ExportError, match=text):
        capture.load(str(folder))


def test_folders_that_are_no_exported_function(copied, tmp_path):
    refused(tmp_path / "nowhere", "can't be loaded")
    refused(tmp_path, "no manifest.json")
    (copied / "manifest.json").write_text("{}")
    refused(copied, "damaged")
    (copied / "manifest.json").write_text("{" * 10)
    refused(copied, "damaged")


def test_a_changed_manifest(copied):
    text = (copied / "manifest.json").read_text().replace("float32", "float64")
    (copied / "manifest.json").write_text(text)
    refused(copied, "checksum differs")


@pytest.mark.parametrize("change", [lambda code: code[:-100], lambda code: code + b"x"])
def test_a_damaged_library(copied, change):
    library = copied / "libtwice.so"
    library.write_bytes(change(library.read_bytes()))
    refused(copied, "damaged or foreign")


def test_a_missing_library(copied):
    (copied / "libtwice.so").unlink()
    refused(copied, "can't be loaded")


def test_libraries_that_others_can_write(copied):
    (copied / "libtwice.so").chmod(0o775)
    refused(copied, "others can write to it")
    (copied / "libtwice.so").chmod(0o755)
    copied.chmod(0o777)
    refused(copied, "others can write to it")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file away")
def test_a_library_of_another_user(copied):
    os.chown(copied / "libtwice.so", 12345, -1)
    refused(copied, "belongs to another user")


def test_code_for_another_machine(copied):
    outer = json.loads((copied / "manifest.json").read_text())
    outer["content"]["machine"]["name"] = "riscv64"
    text = json.dumps(outer["content"], indent=1)
    outer["sha256"] = hashlib.sha256(text.encode()).hexdigest()
    (copied / "manifest.json").write_text(json.dumps(outer))
    refused(copied, "this machine is")


def test_wrong_tensors(saved):
    loaded = capture.load(str(saved))
    with pytest.raises(TypeError, match="x is torch.float64; exported was torch.float32"):
        loaded(torch.ones(3).double())
    with pytest.raises(ValueError, match=r"x has the sizes \[4\]; exported: \[3\]"):
        loaded(torch.ones(4))
    with pytest.raises(TypeError, match="expected 1 in a tuple, found 2"):
        loaded(torch.ones(3), 1)
    with pytest.raises(TypeError, match="expected a tensor, found a int"):
        loaded(1)
    with pytest.raises(RuntimeError, match=r"no gradients: call it under torch\.no_grad"):
        loaded(torch.ones(3, requires_grad=True))
    assert loaded(torch.ones(6)[::2]).tolist() == [2, 2, 2]


def test_a_failed_check_is_an_error(tmp_path):
    need_tools("x86-64")
    capture.export(torch.nn.Embedding(4, 2), (torch.tensor([1, 2]),), name="table").save(str(tmp_path / "t"))
    loaded = capture.load(str(tmp_path / "t"))
    with pytest.raises(RuntimeError, match="out of range"):
        loaded(torch.tensor([1, 9]))


def test_overlapping_memory_of_a_written_argument(tmp_path):
    need_tools("x86-64")

    def store(x, cache):
        cache.copy_(x + 1)

    capture.export(store, (torch.ones(3), torch.ones(3))).save(str(tmp_path / "s"))
    loaded, memory = capture.load(str(tmp_path / "s")), torch.ones(5)
    with pytest.raises(ValueError, match="shares memory"):
        loaded(memory[:3], memory[2:])


PROGRAM = """
import sys, torch
from cache.exported import load
f = load(sys.argv[1])
assert f(torch.ones(3)).tolist() == [2, 2, 2]
assert not {"llvmlite", "capture", "codegen"} & sys.modules.keys(), sys.modules.keys()
"""


def test_a_second_process_needs_torch_alone(saved):
    subprocess.run([sys.executable, "-c", PROGRAM, str(saved)], check=True)


def test_the_command(tmp_path, monkeypatch, capsys):
    program = tmp_path / "my_model.py"
    program.write_text("import torch\nnet = torch.nn.Linear(3, 2)\ndef f(x, n):\n    return x * n\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.path", ["", *sys.path])
    monkeypatch.delitem(sys.modules, "my_model", raising=False)
    for target, args in (("my_model.py:net", "torch.ones(1, 3)"), ("my_model:f", "torch.ones(2), 3")):
        out = f"out_{target.rpartition(':')[2]}"
        assert run_command(["export", target, "--args", args, "-o", out, "--target", "aarch64"]) == 0
        assert "manifest.json" in capsys.readouterr().out
    assert (tmp_path / "out_net" / "Linear.o").exists()
    assert run_command(["export", "nothing.py:f", "-o", "x"]) == 2
    assert "no file 'nothing.py'" in capsys.readouterr().err
    monkeypatch.delitem(sys.modules, "my_model")
