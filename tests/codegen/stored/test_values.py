"""Values of graphs as JSON, and back."""

from __future__ import annotations

import json
from typing import Any

import pytest
import torch

from codegen.stored.values import Malformed, Reader, Writer


@pytest.mark.parametrize(
    "value",
    [
        None, True, 3, -0.0, float("inf"), 1 - 2j, "text", b"bytes", [1, (2, 3.5)], {"a": 1, 2: None}, ...,
        slice(1, None, 2), range(5), range(9, -2, -3), range(2**70), torch.Size([2, 3]), torch.float32,
        torch.strided, torch.channels_last, torch.device("cpu"), torch.ops.aten.add.Tensor, torch.relu,
    ],
)  # fmt: skip
def test_each_value_is_exact(value: Any) -> None:
    writer = Writer()
    data = json.loads(json.dumps(writer.write(value)))
    found = Reader(writer.blobs).read(data)
    assert type(found) is type(value) and repr(found) == repr(value)


@pytest.mark.parametrize(
    "data", [{"range": [0, 5]}, {"range": [0, 5, 0]}, {"range": [0, 5, "1"]}, {"range": 5}, {"slice": [1]}]
)
def test_what_is_no_value_is_malformed(data: Any) -> None:
    with pytest.raises(Malformed):
        Reader([]).read(data)
