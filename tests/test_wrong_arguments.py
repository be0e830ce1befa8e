"""Wrong arguments of the public functions: each error says in one line what to write instead."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import warnings
from pathlib import Path

import pytest
import torch

import capture
from capture.report.config import OTHER_VARIABLES, Config

X = torch.ones(2, 4)


def double(x):
    return x * 2


MISTAKES = {
    "enable(model)": (lambda: capture.enable(torch.nn.Linear(4, 4)), "write capture.compile(module)"),
    "enable(function)": (lambda: capture.enable(double), "write capture.compile(double)"),
    "compile(None)": (lambda: capture.compile(None), "write capture.compile(model), or @capture.compile()"),
    "compile(tensor)": (lambda: capture.compile(X), "not a Tensor"),
    "compile('llvm')": (lambda: capture.compile("llvm"), "write capture.compile(model, backend='llvm')"),
    "explain(f, x)": (lambda: capture.explain(double, X), r"write capture.explain(fn)(*args)"),
    "inductor": (lambda: capture.compile(double, backend="inductor"), "write backend='llvm'"),
    "mark_dynamic(x, 0.5)": (lambda: capture.mark_dynamic(X, 0.5), "as integers, not 0.5"),
    "mark_dynamic(x, (0, None))": (lambda: capture.mark_dynamic(X, (0, None)), "as integers, not None"),
    "mark_dynamic(min=0.5)": (lambda: capture.mark_dynamic(X, 0, min=0.5), "min must be an integer, not 0.5"),
    "mark_dynamic(mim=1)": (
        lambda: capture.mark_dynamic(X, 0, mim=1),
        "no argument 'mim': did you mean 'min'?",
    ),
    "mark_static(x, 0.5)": (lambda: capture.mark_static(X, 0.5), "as integers, not 0.5"),
    "freeze": (
        lambda: capture.compile(double, options={"freeze": "yes"}),
        "'freeze' of backend 'llvm' is bool",
    ),
    "explain(fulgraph)": (lambda: capture.explain(double, fulgraph=True), "did you mean 'fullgraph'?"),
    "explain(fullgraph='no')": (lambda: capture.explain(double, fullgraph="no"), "must be True or False"),
    "compile(fulgraph)": (lambda: capture.compile(double, fulgraph=True), "did you mean 'fullgraph'?"),
    "enable(fulgraph)": (lambda: capture.enable(fulgraph=True), "did you mean 'fullgraph'?"),
    "set_stance(stanc)": (lambda: capture.set_stance(stanc="default"), "did you mean 'stance'?"),
    "minify(f, x)": (lambda: capture.minify(double, X), "as a tuple: minify(f, (x,)), not a Tensor"),
    "reset(f)": (lambda: capture.reset(double), "too many positional arguments"),
    "on_guard_failure(3)": (lambda: capture.on_guard_failure(3), "takes a function of one text, not 3"),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_the_error_says_what_to_write(name):
    call, text = MISTAKES[name]
    with pytest.raises(capture.CaptureError, match=re.escape(text)) as caught:
        call()
    assert "\n" not in str(caught.value)


def test_a_wrong_keyword_is_a_type_error_as_in_python():
    with pytest.raises(TypeError):
        capture.compile(double, fulgraph=True)


def test_enable_without_with_warns_at_its_line():
    with pytest.warns(capture.CaptureWarning, match="write `with capture.enable\\(\\):`") as caught:
        capture.enable()
    assert caught[0].filename == __file__


def test_used_regions_do_not_warn():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with capture.enable(backend="eager"):
            double(X)
        capture.enable(backend="eager")(double)(X)
        capture.compile(double, disable=True)
        capture.compile(backend="eager")(double)(X)


def test_a_mode_that_changes_nothing_says_so_once():
    capture.reset()
    with pytest.warns(capture.CaptureWarning, match="mode='max-autotune' changes nothing") as caught:
        capture.compile(double, mode="max-autotune")
        capture.compile(double, mode="max-autotune")
    assert len(caught) == 1


def test_backends_of_other_shapes_are_accepted():
    class Backend:
        def __call__(self, gm, example_inputs, **options):
            return gm.forward

    for backend in (Backend(), lambda gm, inputs: gm.forward, lambda *args: args[0].forward):
        assert torch.equal(capture.compile(double, backend=backend)(X), X * 2)


def test_integers_of_other_types_name_dimensions():
    np = pytest.importorskip("numpy")
    x = torch.ones(3, 4)
    capture.mark_dynamic(x, np.int64(1))
    assert capture.policy.marks.dynamic_dims(x).keys() == {1}


def test_a_mistaken_environment_variable_is_told():
    with pytest.warns(
        capture.CaptureWarning, match="CAPTURE_RECOMPILE_LIMT: did you mean CAPTURE_RECOMPILE_LIMIT"
    ):
        Config().load_environment({"CAPTURE_RECOMPILE_LIMT": "3", "CAPTURE_OF_SOMEBODY_ELSE": "1"})


def test_every_variable_that_the_product_names_is_known():
    home = Path(capture.__file__).parent.parent
    known = {f"CAPTURE_{name.upper()}" for name in Config.__dataclass_fields__} | set(OTHER_VARIABLES)
    for package in ("capture", "codegen", "guards", "cache"):
        for path in (home / package).rglob("*.py"):
            named = set(re.findall(r'environ\S*[\[(]"(CAPTURE_[A-Z_]+)"', path.read_text()))
            assert named <= known, path


def test_the_warning_does_not_stop_the_import():
    environment = {**os.environ, "CAPTURE_LOG": "graph"}
    code = "import capture"
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True
    )
    assert "did you mean CAPTURE_LOGS?" in done.stderr
