"""The folder of an exported function.

In:  an `Exported`, the path of a folder that does not exist yet.
Out: its files, the library and the archive where there are tools for them, and manifest.json, which has the
     interface and a checksum of each file.

The files are written beside the folder, which then gets its name: it is complete or absent.
"""

from __future__ import annotations

import hashlib
import json
import os
import secrets
import shutil
import subprocess
from typing import TYPE_CHECKING, Any

from capture.report.errors import ExportError
from capture.report.versions import CAPTURE
from codegen.export.example import TOOLS

if TYPE_CHECKING:
    from capture.exporting.export import Exported

MANIFEST = "manifest.json"
FORMAT = 2


def write_folder(folder: str, exported: Exported) -> None:
    path = os.path.abspath(os.fspath(folder))
    if os.path.lexists(path):
        raise ExportError(f"{folder} exists: name a new folder, or remove it")
    beside = f"{path}.{secrets.token_hex(4)}.tmp"
    try:
        os.makedirs(os.path.dirname(path), exist_ok=True)
        os.mkdir(beside)
    except OSError as error:
        raise ExportError(f"{folder} can't be made: {error.strerror}") from None
    try:
        os.chmod(beside, 0o755)  # whatever the umask: a library that others can write to is not loaded
        for name, content in exported.files().items():
            _write(beside, name, content)
        _link(beside, exported)
        _write(beside, MANIFEST, manifest(beside, exported))
        os.rename(beside, path)
    except OSError as error:
        raise ExportError(f"{folder} can't be written: {error}") from None
    finally:
        shutil.rmtree(beside, ignore_errors=True)


def _write(folder: str, name: str, content: bytes) -> None:
    place = os.path.join(folder, name)
    with open(place, "xb") as file:
        file.write(content)
    os.chmod(place, 0o644)


def _link(folder: str, exported: Exported) -> None:
    """The library and the archive, if the machine's compiler is here."""
    if exported.machine.is_wasm:
        return
    name, compiler = exported.name, TOOLS[exported.machine.name][0]
    prefix = compiler.removesuffix("gcc") if compiler.endswith("gcc") else ""
    library, archive = f"lib{name}.so", f"{name}.a"
    if not exported.native.interface.cblas:  # which library has cblas, the caller knows
        _run(folder, [compiler, "-shared", "-o", library, f"{name}.o", "-lm"], library, 0o755)
    _run(folder, [f"{prefix}ar", "rcsD", archive, f"{name}.o"], archive, 0o644)


def _run(folder: str, command: list[str], made: str, mode: int) -> None:
    if shutil.which(command[0]) is None:
        return
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    if done.returncode:
        raise ExportError(f"{' '.join(command)} failed: {done.stderr.strip()}")
    os.chmod(os.path.join(folder, made), mode)


def manifest(folder: str, exported: Exported) -> bytes:
    content: dict[str, Any] = {
        "format": FORMAT,
        "capture": CAPTURE,
        "machine": {
            "name": exported.machine.name,
            "triple": exported.machine.triple,
            "cpu": exported.machine.cpu,
            "features": exported.machine.features,
        },
        "cblas": exported.native.interface.cblas,
        "function": exported.native.interface.as_json(),
        "arguments": exported.form,
        "argument_count": exported.tensor_count,
        "order": exported.order,
        "unread": [
            {
                "argument": place,
                "path": path,
                "dtype": str(tensor.dtype).removeprefix("torch."),
                "shape": list(tensor.shape),
                "strides": list(tensor.stride()),
            }
            for place, (path, tensor) in exported.unread.items()
        ],
        "result": exported.result,
        "files": {name: _digest(os.path.join(folder, name)) for name in sorted(os.listdir(folder))},
    }
    text = json.dumps(content, indent=1)
    return json.dumps(
        {"sha256": hashlib.sha256(text.encode()).hexdigest(), "content": content}, indent=1
    ).encode()


def _digest(path: str) -> str:
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
