"""The doors to other libraries: each example runs in an environment of its own, with pinned versions.

    nox -f examples/doors/noxfile.py                       # all of them
    nox -f examples/doors/noxfile.py -s "door(skorch_net)"

A wheel of the package is built with each environment, so a C compiler is needed.
"""

from __future__ import annotations

from pathlib import Path

import nox

DOORS = Path(__file__).parent
ROOT = DOORS.parent.parent
NAMES = sorted(path.stem for path in (DOORS / "requirements").glob("*.txt"))


@nox.session(python="3.11")
@nox.parametrize("name", NAMES, ids=NAMES)
def door(session: nox.Session, name: str) -> None:
    session.install("-r", str(DOORS / "requirements" / f"{name}.txt"), str(ROOT))
    environment = {"OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1"}
    session.run("python", str(DOORS / f"{name}.py"), env=environment)
