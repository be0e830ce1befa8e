"""A captured module in torch.export, the ONNX exporter and TensorBoard's drawing of the graph."""

from __future__ import annotations

import tempfile
from pathlib import Path

import onnxruntime
import torch
from torch import nn
from torch.utils.tensorboard import SummaryWriter

import capture


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Linear(8, 16)
        self.second = nn.Linear(16, 4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.second(torch.relu(self.first(x))).softmax(-1)


def main() -> None:
    torch.manual_seed(0)
    fast, x = capture.compile(Net().eval()), torch.randn(3, 8)
    with torch.no_grad():
        expected = fast(x)

    exported = torch.export.export(fast, (x,), dynamic_shapes=({0: torch.export.Dim("rows")},))
    torch.testing.assert_close(exported.module()(x), expected)
    print("torch.export:", len(exported.graph.nodes), "nodes")

    with tempfile.TemporaryDirectory() as folder:
        file = str(Path(folder) / "net.onnx")
        torch.onnx.export(fast, (x,), file, dynamo=True, verbose=False)
        session = onnxruntime.InferenceSession(file)
        (found,) = session.run(None, {session.get_inputs()[0].name: x.numpy()})
        torch.testing.assert_close(torch.from_numpy(found), expected)
        print("ONNX: the same results in onnxruntime")

        with SummaryWriter(folder) as writer:
            writer.add_graph(fast, x)
        written = sum(len(path.read_bytes()) for path in Path(folder).glob("events*"))
        assert written > 1000
        print("TensorBoard: a graph was written")

    torch.testing.assert_close(torch.jit.trace(fast, x)(x), expected)
    with torch.no_grad():
        assert torch.equal(fast(x), expected)  # still captured, still right


if __name__ == "__main__":
    main()
