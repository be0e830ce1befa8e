"""A trace of a small program, as `capture.trace` writes it: two captures of a function with a break."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

SOURCE = "def scale(x, k):\n    y = x * k\n    if y.sum() > 0:\n        y = y + 1\n    return y\n"
FILE = "/home/me/prog.py"


def place(line: int) -> dict[str, Any]:
    text = SOURCE.splitlines()[line - 1].strip()
    return {"file": FILE, "line": line, "function": "scale", "text": text}


def tensor(*shape: int) -> dict[str, Any]:
    return {"kind": "tensor", "dtype": "float32", "shape": list(shape), "stride": [1], "requires_grad": False}


def node(name: str, target: str, inputs: list[str], places: list[int], op: str = "call_function") -> Any:
    text = f"{name} = {target}({', '.join(inputs)})"
    return {
        "name": name,
        "op": op,
        "target": target,
        "inputs": inputs,
        "text": text,
        "value": tensor(4),
        "places": places,
    }


def frame(number: int, piece: int, capture: int, start: float, line: int | None = None) -> dict[str, Any]:
    name = f"scale [{piece}/{capture}{f', resumed at line {line}' if line else ''}]"
    return {
        "event": "frame",
        "t": start,
        "frame": number,
        "name": name,
        "function": "scale",
        "piece": piece,
        "capture": capture,
        "resumed_at": line,
        "file": FILE,
        "line": 1,
        "code": 0,
        "backend": "llvm",
        "fullgraph": False,
        "dynamic": None,
    }


def captured(number: int, piece: int, capture: int, start: float, line: int | None = None) -> list[Any]:
    """The events of one capture, which takes 0.2 seconds."""
    own = {"frame": number, "t": start}
    nodes = [
        node("l_x_", "l_x_", [], [], "placeholder"),
        node("mul", "mul", ["l_x_"], [0]),
        node("sum_1", "sum", ["mul"], [1], "call_method"),
    ]
    graph = {
        "event": "graph",
        "graph": number,
        "name": f"scale [{piece}/{capture}]",
        "operations": 2,
        "inputs": [{"node": "l_x_", "source": "x", "value": tensor(4)}],
        "outputs": ["sum_1", "mul"],
        "nodes": nodes,
        "places": [place(2), place(3)],
    }
    cause = {
        "entry": 0,
        "source": "k",
        "was": "k == 2",
        "now": "3",
        "text": "k: was [k == 2], now [3]",
        "place": None,
    }
    broke = {
        "event": "break",
        "id": "data_dependent_jump",
        "reason": "a branch depends on the values of a tensor",
        "hint": "use torch.where",
        "message": None,
        "stack": [place(3)],
        "made_by": [{"text": "sum_1 = mul.sum()", "place": place(3)}],
        "is_error": False,
    }
    kernel = {
        "name": "k0",
        "title": "mul",
        "nodes": ["mul"],
        "inputs": ["l_x_"],
        "outputs": ["mul"],
        "loops": "kernel k0 <a & b>",
    }
    native = {
        "event": "native",
        "native": number,
        "graph": number,
        "role": "forward",
        "kernels": [{**kernel, "llvm": "define i32 @k0()", "asm": "k0:\n\tretq"}],
        "operators": [],
        "workspace": 0,
    }
    phases = [
        {"event": "phase", "phase": "translate", "start": start, "end": start + 0.05, "graph": None},
        {"event": "phase", "phase": "backend", "start": start + 0.05, "end": start + 0.15, "graph": number},
    ]
    guards = [{"kind": "Equal", "source": "k", "text": "k is 2", "place": None}]
    events = [
        frame(number, piece, capture, start, line),
        *([{"event": "recompile", "causes": [cause]}] if capture else []),
        *phases,
        *([broke] if not piece else []),
        graph,
        native,
        {
            "event": "bytecode",
            "before": "RESUME",
            "after": "RESUME",
            "python": "def scale(x):\n    return graph(x)",
        },
        {"event": "guards", "guards": guards},
        {
            "event": "frame_end",
            "outcome": "entry",
            "kind": "code",
            "graph": number,
            "seconds": 0.2,
            "attempts": 1,
        },
        {"event": "memory", "resident": 300_000_000 + 1000 * number, "peak": 310_000_000},
    ]
    return [{**own, **event} for event in events]


def events(pid: int = 7) -> list[dict[str, Any]]:
    process = {
        "event": "process",
        "schema": 1,
        "pid": pid,
        "parent_pid": 1,
        "argv": ["prog.py", "<script>alert(1)</script>"],
        "folder": "/home/me",
        "started": 1000.0 + pid,
        "versions": {"torch": "2.13.0"},
        "platform": "Linux",
        "cpu": {"level": "x86-64-v4", "model": "a processor", "count": 2, "threads": 1},
        "settings": {"dynamic": None},
        "environment": {},
        "show": ["calls"],
    }
    code = {
        "event": "code",
        "code": 0,
        "function": "scale",
        "file": FILE,
        "first": 1,
        "last": 5,
        "source": SOURCE,
    }
    steps = [{"name": "k0", "calls": 100, "ns": 400_000_000, "bytes": 4096, "flops": 1024}]
    found = [
        process,
        code,
        *captured(0, 0, 0, 0.1),
        *captured(1, 1, 0, 0.4, 4),
        *captured(2, 0, 1, 1.0),
        {"event": "left", "frame": 2, "reason": "no torch operations", "always": True, "callees_too": False},
        {"event": "calls", "native": 0, "steps": steps},
        {"event": "end", "t": 2.0, "seconds": 2.0, "processor": 1.9, "counters": {}},
    ]
    return [{"t": 0.0, "thread": 1, "frame": None, "attempt": None, **event} for event in found]


def write(folder: Path, found: list[dict[str, Any]] | None = None, pid: int = 7) -> Path:
    path = folder / f"trace-{pid}.jsonl"
    path.write_text("".join(json.dumps(event) + "\n" for event in found or events(pid)))
    return path
