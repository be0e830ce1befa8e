"""Golden files for all tests: `golden(name, text)` compares with tests/<folder>/golden/<name>.

`pytest --update-golden` writes them.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--update-golden", action="store_true", help="write the golden files instead of comparing with them"
    )


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Callable[[str, str], None]:
    folder = request.path.parent / "golden"

    def check(name: str, text: str) -> None:
        path = folder / name
        if request.config.getoption("--update-golden"):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
            return
        assert path.exists(), f"no golden file {path}: run pytest --update-golden and read what it writes"
        assert text == path.read_text(), f"{path} differs: run pytest --update-golden and read the difference"

    return check
