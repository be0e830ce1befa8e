"""The state of exceptions: tracebacks, chains of contexts, fields, the handled exception, across breaks."""

from __future__ import annotations

import sys
import unittest

import torch

import capture
from tests.capture.cases.language.errors import outcome
from tests.capture.cases.registry import case


@case(ops=1)
def an_exception_without_its_traceback(x):
    try:
        try:
            raise KeyError("k")
        except KeyError:
            raise ValueError("v")  # noqa: B904
    except ValueError as error:
        kept = error.with_traceback(None)
        return kept.args, kept.__traceback__, type(kept.__context__), x + 1


@case(ops=1)
def assertions_of_a_test_case(x):
    test = unittest.TestCase()
    test.assertEqual([1, 2], [1, 2])
    test.assertIn(1, {1: 2})
    test.assertTrue(x.ndim == 2)
    test.assertRaises(ValueError, int, "a")
    with test.assertRaises(ZeroDivisionError) as caught:
        1 / 0  # noqa: B018
    with test.assertRaisesRegex(TypeError, "exactly one"):
        [].append()
    return str(caught.exception), x + 1


@case(ops=1)
def an_exception_raised_again_in_another_handler(x):
    try:
        try:
            raise NameError("n")
        except NameError as first:
            try:
                1 / 0  # noqa: B018
            except ZeroDivisionError:
                raise first  # noqa: B904
    except NameError as error:
        return type(error.__context__), error.__context__.__context__, x + 1


@case(ops=1)
def a_chain_of_contexts_that_would_close(x):
    kept = []
    try:
        try:
            raise KeyError(1)
        except KeyError as first:
            kept.append(first)
            try:
                raise ValueError(2)
            except ValueError as second:
                kept.append(second)
                try:
                    raise IndexError(3)
                except IndexError as third:
                    kept.append(third)
                    raise first  # noqa: B904
    except KeyError as error:
        a, b, c = kept
        return error is a, a.__context__ is c, c.__context__ is b, b.__context__, x + 1


@case(ops=1)
def nothing_is_handled(x):
    before = sys.exc_info()
    try:
        raise ValueError
    except ValueError as error:
        return before, error.__context__, sys.exc_info()[1] is error, x + 1


def _raised_before():
    return torch.ones(2), ValueError("made before")


@case(graphs=None, args=_raised_before)
def an_exception_from_outside_is_raised_by_python(x, error):
    try:
        raise error
    except ValueError as caught:
        return caught.__traceback__ is not None, str(caught), x + 1


@case(ops=1)
def fields_of_exceptions(x):
    missing = OSError(2, "text", "name")
    found = ImportError("m", name="n", path="p")
    decoding = UnicodeDecodeError("utf8", b"abc", 0, 1, "bad")
    fields = [type(missing), missing.errno, missing.strerror, missing.filename, missing.args, str(missing)]
    fields += [found.name, found.path, found.msg, str(found), SystemExit(4).code, StopIteration(3).value]
    fields += [
        decoding.start,
        decoding.reason,
        AttributeError("q", name="z", obj=3).name,
        OSError("only").errno,
    ]
    fields += [outcome(lambda: ValueError(a=1)), outcome(lambda: ImportError(other=1))]
    return fields, x + 1


@case(graphs=2, ops=2)
def an_exception_with_keywords_behind_a_break(x):
    error = ImportError("m", name="n")
    y = x + 1
    capture.graph_break()
    return error.name, error.args, str(error), y * 2


@case(ops=1)
def an_exception_initialised_again(x):
    error = ImportError("text", name="n", path="p")
    error.__init__()
    before = sys.exception()
    return error.args, error.name, error.path, before, x + 1
