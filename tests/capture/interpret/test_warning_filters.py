"""Blocks of `warnings.catch_warnings`: what is shown, the filters behind the block, one graph."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import torch

import capture
from capture.report.counters import counters

X = torch.ones(3)


def ignores(x):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return x * 2


def ignores_as_an_argument(x):
    with warnings.catch_warnings(action="ignore", category=DeprecationWarning):
        y = x * 3
    return y, len(warnings.filters)


def by_message(x):
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="hid.*", append=True)
        y = x * 2
    return y, warnings.filters[-1:]


def in_each_layer(x):
    for _ in range(4):
        x = ignores(x) + 1
    return x


def filter_that_stays(x):
    warnings.simplefilter("ignore", DeprecationWarning)
    return x + 1


def warns_within(x):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.warn("hidden", stacklevel=1)
        y = x * 2
    warnings.warn("seen", stacklevel=1)
    return y


def drops_by_text(x):
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "hid.*")
        warnings.filterwarnings("ignore", "other")
        warnings.simplefilter("ignore", DeprecationWarning)
        warnings.warn("hidden", stacklevel=1)
        return x * 2


def drops_those_of_torch(x):
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", ".*target size.*")
        y = torch.nn.functional.mse_loss(x, x[:1])
    return y * 2


def filters_that_do_not_fit(x):
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "other")
        warnings.filterwarnings("ignore", "seen", module="other")
        warnings.warn("seen", stacklevel=1)
        return x * 2


def other_filters_behind(x):
    warnings.warn("seen", stacklevel=1)
    warnings.simplefilter("ignore")
    return x * 2


def shows_again(x):
    """Filters that change let a warning be shown that was shown before."""
    warnings.warn("once for each place", stacklevel=1)
    return ignores(x)


def raises_within(x):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.warn("boom", stacklevel=1)
    return x


def catches(x):
    try:
        return raises_within(x * 2)
    except UserWarning as error:
        return x, str(error)


def records(x):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        warnings.warn("noted", stacklevel=1)
        y = x + 1
    return y, [str(w.message) for w in caught]


def breaks_within(x):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if x.sum() > 100:
            x = x * 0
        warnings.warn("hidden", stacklevel=1)
        return x * 2


def fails_within(x):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return x.view(7)


WHOLE = [
    ignores, ignores_as_an_argument, by_message, in_each_layer, filter_that_stays, warns_within,
    drops_by_text, drops_those_of_torch,
]  # fmt: skip
BROKEN = [
    shows_again, raises_within, catches, records, breaks_within, fails_within, filters_that_do_not_fit,
    other_filters_behind,
]  # fmt: skip
SHOWN = [warns_within, shows_again, filters_that_do_not_fit, other_filters_behind]


@pytest.fixture(autouse=True)
def _filters() -> Iterator[None]:
    with warnings.catch_warnings():
        yield


def outcome(function: Any) -> list[Any]:
    """What three calls give and show, and what they leave of the filters."""
    warnings.resetwarnings()
    globals().pop("__warningregistry__", None)
    shown: list[Any] = []
    found = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(warnings, "_showwarnmsg_impl", lambda w: shown.append((str(w.message), w.lineno)))
        for _ in range(3):
            before = warnings.filters
            try:
                value = str(function(X))
            except Exception as error:
                value = f"{type(error).__name__}: {error}"
            found.append((value, warnings.filters is before, list(warnings.filters)))
    return [found, shown]


@pytest.mark.parametrize("program", [*WHOLE, *BROKEN])
def test_blocks_are_those_of_python(program: Any) -> None:
    expected = outcome(program)
    assert bool(expected[1]) == (program in SHOWN)
    capture.reset()
    assert outcome(capture.compile(program)) == expected
    if program in WHOLE:
        assert capture.counters["graphs"]["compiled"] >= 1
        assert not capture.counters["graph_breaks"]


def test_translation_of_arrays_lets_no_line_warn_twice() -> None:
    """A line warns once, and again when someone has changed the filters: translation changes none."""

    def numbers(a):
        return np.sin(a)[:2] * np.float64(2.0) + np.int64(3) ** 2

    def run(fast):
        with warnings.catch_warnings(record=True) as shown:
            warnings.simplefilter("default")
            for _ in range(3):
                warnings.warn("of the program", UserWarning, stacklevel=1)
                fast(np.arange(4.0))
        return [str(w.message) for w in shown]

    capture.reset()
    globals().pop("__warningregistry__", None)
    expected = run(numbers)
    globals().pop("__warningregistry__", None)
    assert run(capture.compile(numbers)) == expected == ["of the program"]
    assert counters["graphs"]["compiled"] == 1


def test_warnings_of_numpy_while_it_translates(recwarn: pytest.WarningsRecorder) -> None:
    filters, same = list(warnings.filters), warnings.filters
    found = capture.compile(lambda a: np.log(a) / a)(np.zeros(3))
    assert np.isnan(found).sum() + np.isinf(found).sum() == 3
    assert warnings.filters is same and list(warnings.filters) == filters
