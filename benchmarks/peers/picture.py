"""The picture of the README: three panels of bars, a group for each model. It needs matplotlib ([bench])."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from benchmarks.peers import table

COLOURS = {"eager": "#8a8a8a", "torch.compile": "#d0902f", "capture": "#2f7d5b"}
SIZE = (11, 3.6)
BAR = 0.38


def draw(data: dict[str, Any], file: Path) -> None:
    import matplotlib as mpl

    mpl.use("svg")
    from matplotlib import pyplot as plt

    mpl.rcParams.update({"svg.hashsalt": "capture", "svg.fonttype": "none", "font.size": 9})
    figure, axes = plt.subplots(1, 3, figsize=SIZE, sharey=True, layout="constrained")
    models = data["training"]
    panels = (
        ("settled step, of eager's", "{:.2f}", ratio),
        ("cold start, processor seconds", "{:z.1f}", lambda *what: table.start(*what, table.COLD)),
        ("warm start, processor seconds", "{:z.1f}", lambda *what: table.start(*what, table.WARM)),
    )
    for axis, (title, form, value) in zip(axes, panels):
        for place, peer in enumerate(table.PEERS):
            values = [value(model, peer) for model in models.values()]
            places = [number + (place - 0.5) * BAR for number in range(len(models))]
            bars = axis.barh(places, values, BAR, color=COLOURS[peer], label=peer)
            axis.bar_label(bars, fmt=form, padding=3, fontsize=8)
        axis.set_title(title, fontsize=10)
        axis.spines[["top", "right"]].set_visible(False)
        axis.margins(x=0.15)
    axes[0].axvline(1, color=COLOURS["eager"], linestyle="--", linewidth=1)
    axes[0].set_yticks(range(len(models)), list(models))
    axes[0].invert_yaxis()
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=2, frameon=False)
    figure.savefig(file, metadata={"Date": None})
    plt.close(figure)


def ratio(model: dict[str, Any], peer: str) -> float:
    return table.step(model[peer]) / table.step(model["eager"])
