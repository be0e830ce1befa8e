"""The drawing of a graph as SVG, in layers from top to bottom.

In:  nodes with labels, in an order in which each comes behind its inputs; edges between them.
Out: the text of an `<svg>` element. Its colours are variables of the page's style.

Each node stands one layer below its lowest input (longest path). An edge over several layers has a bend in
each of them. Within the layers the order of the nodes is swept down and up: each goes to the mean place of
its neighbours, and the order with the fewest crossings is kept. Of a large graph the first operations are
shown, with a note.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from itertools import accumulate, pairwise

from capture_records import dataclass

MOST_NODES = 80
SWEEPS = 6
LETTER, HEIGHT, GAP, LAYER, MARGIN = 6.7, 24, 14, 50, 10
BEND = 10  # width of an edge's place in a layer
MOST_LETTERS = 26


@dataclass(frozen=True)
class Node:
    """kind: `input`, `output` or `operation`. tip: a longer text, shown under the pointer. target: an id in
    the page that the node links to.
    """

    name: str
    label: str
    kind: str = "operation"
    tip: str = ""
    target: str = ""


Edge = tuple[str, str]


@dataclass
class _Place:
    """A node, or the bend of an edge (`node` is None), in a layer."""

    key: str
    layer: int
    width: float
    node: Node | None = None
    x: float = 0.0

    @property
    def is_input(self) -> bool:
        return self.node is not None and self.node.kind == "input"

    @property
    def middle(self) -> float:
        return self.x + self.width / 2


def draw(nodes: Sequence[Node], edges: Sequence[Edge], title: str) -> str:
    known = _shown(nodes, edges)
    shown = [node for node in nodes if node.name in known]
    kept = [(a, b) for a, b in dict.fromkeys(edges) if a in known and b in known]
    layers, lines = _layers(shown, kept)
    neighbours = _neighbours(lines)
    _order(layers, neighbours)
    _place(layers, neighbours)
    left_out = len(nodes) - len(shown)
    return _svg(layers, lines, title, left_out)


def _shown(nodes: Sequence[Node], edges: Sequence[Edge]) -> set[str]:
    """The first operations, with what they read: a graph may have hundreds of inputs."""
    if len(nodes) <= MOST_NODES:
        return {node.name for node in nodes}
    sources: dict[str, list[str]] = {}
    for source, user in edges:
        sources.setdefault(user, []).append(source)
    shown: set[str] = set()
    for node in nodes:
        own = {node.name, *sources.get(node.name, ())}
        if node.kind != "input" and len(shown | own) <= MOST_NODES:
            shown |= own
    return shown


# --- layers -------------------------------------------------------------------------------------------------


def _layers(nodes: list[Node], edges: list[Edge]) -> tuple[list[list[_Place]], list[list[_Place]]]:
    """The layers, and each edge as the places that it goes through."""
    level = dict.fromkeys((node.name for node in nodes), 0)
    inputs: dict[str, list[str]] = {node.name: [] for node in nodes}
    users: dict[str, list[str]] = {node.name: [] for node in nodes}
    for source, user in edges:
        inputs[user].append(source)
        users[source].append(user)
    for node in nodes:
        level[node.name] = max((level[i] + 1 for i in inputs[node.name]), default=0)
    for node in nodes:  # what only waits stands near its first user
        if not inputs[node.name] and users[node.name]:
            level[node.name] = min(level[user] for user in users[node.name]) - 1
    places = {n.name: _Place(n.name, level[n.name], _width(n), n) for n in nodes}
    layers: list[list[_Place]] = [[] for _ in range(max(level.values(), default=-1) + 1)]
    for place in places.values():
        layers[place.layer].append(place)
    lines = []
    for source, user in edges:
        bends = [_Place(f"{source}>{user}>{k}", k, BEND) for k in range(level[source] + 1, level[user])]
        for bend in bends:
            layers[bend.layer].append(bend)
        lines.append([places[source], *bends, places[user]])
    return layers, lines


def _width(node: Node) -> float:
    return 2 * GAP + LETTER * len(_cut(node.label))


def _cut(label: str) -> str:
    return label if len(label) <= MOST_LETTERS else label[: MOST_LETTERS - 1] + "…"


_Neighbours = dict[str, tuple[list[_Place], list[_Place]]]


def _neighbours(lines: list[list[_Place]]) -> _Neighbours:
    """For each place those above and those below it."""
    result: _Neighbours = {}
    for line in lines:
        for upper, lower in pairwise(line):
            result.setdefault(upper.key, ([], []))[1].append(lower)
            result.setdefault(lower.key, ([], []))[0].append(upper)
    return result


# --- order --------------------------------------------------------------------------------------------------


def _order(layers: list[list[_Place]], neighbours: _Neighbours) -> None:
    best, fewest = [list(layer) for layer in layers], _crossings(layers, neighbours)
    for sweep in range(SWEEPS):
        side = sweep % 2  # 0: by what is above, downwards
        for layer in layers[1:] if side == 0 else layers[-2::-1]:
            _sort_layer(layers, layer, neighbours, side)
        crossings = _crossings(layers, neighbours)
        if crossings < fewest:
            best, fewest = [list(layer) for layer in layers], crossings
    layers[:] = best


def _sort_layer(layers: list[list[_Place]], layer: list[_Place], neighbours: _Neighbours, side: int) -> None:
    number = layer[0].layer + (-1 if side == 0 else 1)
    index = {place.key: i for i, place in enumerate(layers[number])}
    own = {place.key: i for i, place in enumerate(layer)}

    def mean(place: _Place) -> float:
        others = neighbours.get(place.key, ([], []))[side]
        found = [index[other.key] for other in others]
        return sum(found) / len(found) if found else own[place.key]

    layer.sort(key=mean)


def _crossings(layers: list[list[_Place]], neighbours: _Neighbours) -> int:
    """Pairs of lines between two layers that cross."""
    count = 0
    for upper, lower in pairwise(layers):
        index = {place.key: i for i, place in enumerate(lower)}
        ends = [sorted(index[o.key] for o in neighbours.get(p.key, ([], []))[1]) for p in upper]
        passed: list[int] = []
        for group in ends:
            count += sum(1 for end in group for other in passed if other > end)
            passed += group
    return count


# --- coordinates --------------------------------------------------------------------------------------------


def _place(layers: list[list[_Place]], neighbours: _Neighbours) -> None:
    """Side by side at first; then each moves towards the middle of its neighbours as far as there is room."""
    for layer in layers:
        x = 0.0
        for place in layer:
            place.x = x
            x += place.width + GAP
    for turn in range(8):
        for layer in layers if turn % 2 == 0 else reversed(layers):
            _move(layer, neighbours, turn % 2)
    left = min((place.x for layer in layers for place in layer), default=0.0)
    for layer in layers:
        for place in layer:
            place.x += MARGIN - left


def _move(layer: list[_Place], neighbours: _Neighbours, side: int) -> None:
    wanted = []
    for place in layer:
        others = neighbours.get(place.key, ([], []))[side]
        others = [o for o in others if not o.is_input] or others  # inputs come to their users
        middle = sum(o.middle for o in others) / len(others) if others else place.middle
        wanted.append(middle - place.width / 2)
    fixed = [place for place in layer if not place.is_input] or list(layer)
    _set_apart(layer, fixed, wanted)
    movable = [i for i, place in enumerate(layer) if place not in fixed]
    for i in movable:
        room = layer[i - 1].x + layer[i - 1].width + GAP if i else wanted[i]
        layer[i].x = max(wanted[i], room)
    for i in reversed(movable):
        if i + 1 < len(layer):
            layer[i].x = min(layer[i].x, layer[i + 1].x - GAP - layer[i].width)


def _set_apart(layer: list[_Place], fixed: list[_Place], wanted: list[float]) -> None:
    """Places as wanted, with room for those between them. They move to the right as far as the one before
    needs, and to the left likewise; the mean of both leaves as much room as each of them.
    """
    begins = dict(zip((id(place) for place in layer), accumulate([0.0, *(p.width + GAP for p in layer)])))
    aims = dict(zip((id(place) for place in layer), wanted))
    offsets = [aims[id(place)] - begins[id(place)] for place in fixed]
    lefts = list(accumulate(offsets, max))
    rights = list(accumulate(reversed(offsets), min))[::-1]
    for place, left, right in zip(fixed, lefts, rights):
        place.x = begins[id(place)] + (left + right) / 2


# --- text ---------------------------------------------------------------------------------------------------


def _svg(layers: list[list[_Place]], lines: list[list[_Place]], title: str, left_out: int) -> str:
    width = max((p.x + p.width for layer in layers for p in layer), default=0.0) + MARGIN
    height = max(len(layers) - 1, 0) * LAYER + HEIGHT + 2 * MARGIN + (20 if left_out else 0)
    parts = [
        f'<svg class="drawing" role="img" aria-label="{escape(title)}" width="{width:.0f}" '
        f'height="{height}" viewBox="0 0 {width:.0f} {height}">'
    ]
    parts += [f'<path class="edge" d="{_path(line)}"/>' for line in lines]
    parts += [_box(place) for layer in layers for place in layer if place.node is not None]
    if left_out:
        parts.append(f'<text class="note" x="{MARGIN}" y="{height - 8}">and {left_out} more nodes</text>')
    return "".join([*parts, "</svg>"])


def _top(layer: int) -> float:
    return MARGIN + layer * LAYER


def _path(line: list[_Place]) -> str:
    """From the foot of a box to the head of another, smooth at each layer between."""
    x, y = line[0].middle, _top(line[0].layer) + HEIGHT
    parts = [f"M{x:.0f} {y:.0f}"]
    for place in line[1:]:
        top = _top(place.layer)
        middle = (y + top) / 2
        parts.append(f"C{x:.0f} {middle:.0f} {place.middle:.0f} {middle:.0f} {place.middle:.0f} {top:.0f}")
        x, y = place.middle, top
        if place.node is None:
            y += HEIGHT
            parts.append(f"L{x:.0f} {y:.0f}")
    return "".join(parts)


def _box(place: _Place) -> str:
    node, y = place.node, _top(place.layer)
    assert node is not None
    box = (
        f'<g class="node {node.kind}"><title>{escape(node.tip or node.label)}</title>'
        f'<rect x="{place.x:.0f}" y="{y:.0f}" width="{place.width:.0f}" height="{HEIGHT}" rx="5"/>'
        f'<text x="{place.middle:.0f}" y="{y + 16:.0f}">{escape(_cut(node.label))}</text></g>'
    )
    return f'<a href="#{escape(node.target)}">{box}</a>' if node.target else box
