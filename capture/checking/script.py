"""A script of a few lines that shows what a check has found.

In:  a part of a graph that a backend computes wrongly.
Out: the text of a file. It fails when it is run: it prints what is wrong, and its exit status is 1.

Inputs stand in the script: drawn numbers where these show it too, else their values.
"""

from __future__ import annotations

import base64
import types
import zlib
from collections.abc import Callable
from typing import Any

import torch
import torch.fx

from capture.checking.parts import Part

FEW = 24  # elements that are written as numbers
LINE = 100  # characters of an encoded input in a line

TEMPLATE = '''"""{why}"""

{imports}


{function}


inputs = [
{inputs}
]
result = capture.check({name}, backends={backends!r})(*inputs)
print(result)
raise SystemExit(not result.ok)
'''

DECODED = '''
def stored(text, dtype, shape):
    """A tensor from its compressed bytes."""
    data = bytearray(zlib.decompress(base64.b85decode("".join(text.split()))))
    return torch.frombuffer(data, dtype=dtype).reshape(shape).clone()
'''


def script_of(part: Part, backends: tuple[str, ...], why: str, is_wrong: Callable[[Part], bool]) -> str:
    """The text of the script. `is_wrong` says whether other inputs show it too."""
    written, names = function_of(part.module)
    texts = [drawn(value, place) for place, value in enumerate(part.inputs)]
    random = Part(part.module, [evaluated(text) for text in texts], part.nodes)
    if not _holds(random, is_wrong):
        texts = [literal(value) for value in part.inputs]
    imports = {"import torch", "import capture", *map(import_of, names.items())} - {""}
    if any("stored(" in text for text in texts):
        imports |= {"import base64", "import zlib"}
        written = DECODED.strip() + "\n\n\n" + written
    if any(word in text for text in texts for word in ("inf", "nan")):
        imports.add("from math import inf, nan")
    return TEMPLATE.format(
        why=why.replace('"""', "'''").replace("\\", "\\\\"),
        imports="\n".join(sorted(imports, key=lambda line: (line.startswith("from"), line))),
        function=written,
        inputs="\n".join(f"    {text}," for text in texts),
        name="reduced",
        backends=backends,
    )


def _holds(part: Part, is_wrong: Callable[[Part], bool]) -> bool:
    try:
        return is_wrong(part)
    except Exception:  # eager refuses these inputs
        return False


def function_of(module: torch.fx.GraphModule) -> tuple[str, dict[str, Any]]:
    """The graph as a function, and the names that it uses."""
    generated = module.graph.python_code("self")
    lines = [line.rstrip() for line in generated.src.strip().splitlines() if line.strip()]
    start = next(i for i, line in enumerate(lines) if line.startswith("def forward(self"))
    lines[start] = (
        lines[start].replace("def forward(self, ", "def reduced(").replace("def forward(self", "def reduced(")
    )
    body = [line.replace("; ", "\n    ") if " = None" in line else line for line in lines[start:]]
    kept = [line for text in body for line in text.splitlines() if not is_release(line)]
    text = "\n".join(kept)
    used = {name: value for name, value in generated.globals.items() if name in text}
    return text, used


def is_release(line: str) -> bool:
    """`x = None`, which torch.fx writes behind the last use."""
    return all(part.strip().isidentifier() or part.strip() == "None" for part in line.split("=")) and (
        line.rstrip().endswith("= None")
    )


def import_of(item: tuple[str, Any]) -> str:
    name, value = item
    if isinstance(value, types.ModuleType):
        return f"import {name}" if value.__name__ == name else f"import {value.__name__} as {name}"
    module, own = getattr(value, "__module__", None), getattr(value, "__qualname__", None)
    if module in (None, "builtins") or own is None:
        return {"inf": "from math import inf", "nan": "from math import nan"}.get(name, "")
    return f"from {module} import {own}" if own == name else f"from {module} import {own} as {name}"


def drawn(value: Any, seed: int) -> str:
    """An expression of random values in place of those of the input."""
    if not isinstance(value, torch.Tensor) or not value.is_floating_point() or not value.is_contiguous():
        return literal(value)
    draw = f"torch.randn({list(value.shape)}, generator=torch.Generator().manual_seed({seed}))"
    return finished(draw if value.dtype is torch.float32 else f"{draw}.to({value.dtype})", value)


def literal(value: Any) -> str:
    """An expression of the value itself."""
    if not isinstance(value, torch.Tensor):
        return repr(value)
    plain = value.detach().contiguous()
    if value.numel() <= FEW:
        text = f"torch.tensor({plain.tolist()}, dtype={value.dtype})"
    else:
        data = zlib.compress(plain.flatten().view(torch.uint8).numpy().tobytes(), 9)
        code = base64.b85encode(data).decode()
        lines = "\n".join(code[at : at + LINE] for at in range(0, len(code), LINE))
        text = f"stored('''\n{lines}\n''', {value.dtype}, {list(value.shape)})"
    if not value.is_contiguous():
        empty = f"torch.empty_strided({list(value.shape)}, {list(value.stride())}, dtype={value.dtype})"
        text = f"{empty}.copy_({text})"
    return finished(text, value)


def finished(text: str, value: torch.Tensor) -> str:
    return f"{text}.requires_grad_()" if value.requires_grad else text


def evaluated(text: str) -> Any:
    """The value of an expression of this file."""
    names: dict[str, Any] = {"torch": torch, "inf": float("inf"), "nan": float("nan")}
    names |= {"base64": base64, "zlib": zlib}
    exec(DECODED, names)
    return eval(text, names)
