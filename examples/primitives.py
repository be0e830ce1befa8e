"""What a call really does: conversions of dtypes, broadcasts, arithmetic, copies."""

from __future__ import annotations

import torch

import capture
from codegen.compile_fx import compile_fx


def standardize(x, scale):
    x = x - x.mean(-1, keepdim=True)
    return x / x.std(-1, keepdim=True) * scale


def main() -> None:
    a, b = torch.randn(3, 1, 4), torch.randn(5, 4)
    print("two broadcasts and an addition:")
    capture.primitives(torch.add)(a, b)

    print("\nhalf precision is computed in float32:")
    capture.primitives(torch.add)(torch.randn(4, dtype=torch.half), 1)

    print("\na product for alpha, and a copy to out:")
    out = torch.empty(5, 4)
    capture.primitives(torch.add)(b, b.clone(), alpha=2, out=out)

    print("\na function of one's own:")
    x, scale = torch.randn(2, 8), torch.tensor(2.0)
    graph = capture.primitives(standardize)(x, scale)
    native = compile_fx(graph, [x, scale])
    print("as eager:", torch.allclose(graph(x, scale), standardize(x, scale), atol=1e-6))
    print("native:", torch.allclose(native(x, scale)[0], standardize(x, scale), atol=1e-6))

    print("\na matrix product has no primitives:")
    graph = capture.primitives(torch.nn.Linear(4, 2))(torch.randn(3, 4))
    print(graph.meta["kept"])


if __name__ == "__main__":
    main()
