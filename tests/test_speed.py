"""The README's table and picture beside torch.compile are made of what was measured (`benchmarks/peers`)."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest

from benchmarks.peers import child, picture, runs, table
from benchmarks.peers.__main__ import DATA, PICTURE, README, SECTION


def run(first: float, step: float, memory: float = 100.0) -> dict[str, float]:
    return {"first": first, "step": step, "memory": memory}


MODEL = {
    "eager": [run(1.0, 0.2), run(1.0, 0.2)],
    "torch.compile": [run(41.0, 0.1, 300.0), run(5.0, 0.1, 200.0)],
    "capture": [run(3.0, 0.25, 150.0), run(1.5, 0.15, 120.0)],
}


def test_the_table_is_that_of_the_data():
    assert SECTION.search(README.read_text()).group() == table.markdown(json.loads(DATA.read_text()))


def test_the_picture_has_every_model():
    text = PICTURE.read_text()
    assert all(f">{name}</text>" in text for name in json.loads(DATA.read_text())["training"])


def test_a_row():
    """40 s of start, a step 0.1 s faster: 400 steps behind the first five."""
    assert table.row("net", MODEL) == [
        "net", "200 ms", "0.50 / 0.75", "40.0 / 2.0", "4.0 / 0.5", "200 / 50", "405 / 45", "45 / 15",
    ]  # fmt: skip
    slower = {**MODEL, "capture": [run(3.0, 0.25), run(1.5, 0.25)]}
    assert table.even(slower, "capture", table.COLD) == math.inf
    assert table.row("net", slower)[-1] == "45 / never"


def test_noise_is_the_distance_of_equal_processes():
    assert table.noise({"training": {"net": MODEL}}) == pytest.approx((0.0, 2 / 3))


def test_other_losses_do_not_count():
    found = {"eager": [{"losses": [1.0, 2.0]}], "capture": [{"losses": [1.0, 2.1]}]}
    with pytest.raises(RuntimeError, match="losses of capture"):
        runs.check("net", found)


def test_a_process_measures_what_the_table_needs():
    found = child.training("PointNet", "capture", seconds=0.0, least=4)
    assert found["first"] > found["step"] > 0
    assert found["memory"] > 0 and len(found["losses"]) == child.FIRST
    assert child.tiny("without a gradient", "eager")["call"] > 0


def test_the_picture(tmp_path: Path):
    pytest.importorskip("matplotlib", reason="matplotlib is not installed")
    file = tmp_path / "speed.svg"
    picture.draw({"training": {"net": MODEL}}, file)
    assert ">net</text>" in file.read_text() and ">0.50</text>" in file.read_text()
