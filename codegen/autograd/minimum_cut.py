"""The cheapest way to cut a graph between a source and a sink.

In:  edges (from, to, capacity); an edge of capacity None can't be cut.
Out: the nodes that the source still reaches: the cut edges lead out of this set.

    s -5-> a -2-> t,  s -1-> t   ->   {s, a}: cut are a -> t and s -> t, for 3

The cut comes from the largest flow (Ford and Fulkerson, "Maximal flow through a network", 1956). The flow is
found in layers of equally short paths (Dinitz, "Algorithm for solution of a problem of maximum flow in
networks with power estimation", 1970).
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable

Edge = tuple[Hashable, Hashable, int | None]
UNLIMITED = 1 << 62


class _Network:
    """Arc i and its reverse i ^ 1: the node that it leads to, and the capacity that is left."""

    def __init__(self, edges: Iterable[Edge]) -> None:
        self.target: list[Hashable] = []
        self.room: list[int] = []
        self.arcs: dict[Hashable, list[int]] = {}
        for start, end, capacity in edges:
            self.arcs.setdefault(start, []).append(len(self.target))
            self.arcs.setdefault(end, []).append(len(self.target) + 1)
            self.target += [end, start]
            self.room += [UNLIMITED if capacity is None else capacity, 0]

    def levels(self, source: Hashable) -> dict[Hashable, int]:
        """For each node that is reached, the number of arcs with capacity left on the way to it."""
        level = {source: 0}
        border = [source]
        while border:
            reached = []
            for node in border:
                for arc in self.arcs.get(node, ()):
                    end = self.target[arc]
                    if self.room[arc] and end not in level:
                        level[end] = level[node] + 1
                        reached.append(end)
            border = reached
        return level

    def fill(self, source: Hashable, sink: Hashable, level: dict[Hashable, int]) -> None:
        """Sends the largest flow along paths that go one level on with each arc.

        It does not recurse, because paths are as long as programs.
        """
        place = dict.fromkeys(level, 0)  # the arcs before this one lead nowhere any more
        way: list[int] = []
        while True:
            node = self.target[way[-1]] if way else source
            if node == sink:
                amount = min(self.room[arc] for arc in way)
                if amount > UNLIMITED // 2:
                    raise ValueError("source and sink can't be separated")
                for arc in way:
                    self.room[arc] -= amount
                    self.room[arc ^ 1] += amount
                del way[next(i for i, arc in enumerate(way) if not self.room[arc]) :]
                continue
            arcs, tried, ahead = self.arcs[node], place[node], level[node] + 1
            while tried < len(arcs):
                if self.room[arcs[tried]] and level.get(self.target[arcs[tried]]) == ahead:
                    break
                tried += 1
            place[node] = tried
            if tried < len(arcs):
                way.append(arcs[tried])
            elif way:
                place[self.target[way.pop() ^ 1]] += 1
            else:
                return


def minimum_cut(edges: Iterable[Edge], source: Hashable, sink: Hashable) -> set[Hashable]:
    """The nodes on the side of the source. Raises ValueError where no cut is possible."""
    network = _Network(edges)
    while True:
        level = network.levels(source)
        if sink not in level:
            return set(level)
        network.fill(source, sink, level)
