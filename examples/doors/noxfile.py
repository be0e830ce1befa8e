"""The doors to other libraries: each example runs in an environment of its own, with pinned versions.

    nox -f examples/doors/noxfile.py                       # all of them
    nox -f examples/doors/noxfile.py -s "door(skorch_net)"
    nox -f examples/doors/noxfile.py -R                    # again, with the environments as they are

A wheel of the package is built with each environment, so a C compiler is needed. Torch is the largest part of
each: pip and uv download it once. Where uv is installed, nox takes it, and the environments share its files.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import nox

DOORS = Path(__file__).parent
ROOT = DOORS.parent.parent
nox.options.default_venv_backend = "uv|virtualenv"
NAMES = sorted(path.stem for path in (DOORS / "requirements").glob("*.txt"))


@nox.session(python="3.11")
@nox.parametrize("name", NAMES, ids=NAMES)
def door(session: nox.Session, name: str) -> None:
    session.install("-r", str(DOORS / "requirements" / f"{name}.txt"), str(ROOT))
    with tempfile.TemporaryDirectory() as store:  # the counts of docs/doors.md are those of an empty one
        environment = {"OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1", "CAPTURE_CACHE_DIR": store}
        session.run("python", str(DOORS / f"{name}.py"), env=environment)
