"""Exception groups and `except*`."""

from __future__ import annotations

import sys

import capture
from tests.capture.cases.registry import case


def shown(error):
    if isinstance(error, BaseExceptionGroup):
        return type(error).__name__, error.message, [shown(inner) for inner in error.exceptions]
    return repr(error)


def outcome(function):
    try:
        return function()
    except BaseException as error:
        return shown(error), type(error.__context__).__name__, type(error.__cause__).__name__


def nested():
    return ExceptionGroup(
        "m", [ValueError(1), TypeError(2), ExceptionGroup("n", [ValueError(3), OSError(4)])]
    )


@case(ops=1)
def each_clause_takes_its_part(x):
    taken = []
    try:
        raise nested()
    except* ValueError as error:
        taken.append(shown(error))
        taken.append(sys.exc_info()[1] is error)
    except* (TypeError, OSError) as error:
        taken.append(shown(error))
    return taken, x + 1


@case(ops=1)
def what_no_clause_takes(x):
    def some():
        try:
            raise nested()
        except* ValueError:
            pass

    def none():
        try:
            raise ValueError(1)
        except* TypeError:
            pass

    def group():
        try:
            raise ValueError(1)
        except* ExceptionGroup:
            pass

    return outcome(some), outcome(none), outcome(group), x + 1


@case(ops=1)
def an_exception_alone_is_wrapped(x):
    seen = []

    def again():
        try:
            raise ValueError(1)
        except* ValueError as error:
            seen.append(shown(error))
            raise

    return outcome(again), seen, x + 1


@case(ops=1)
def raised_in_the_clauses(x):
    def some_new():
        try:
            raise nested()
        except* ValueError:
            raise
        except* TypeError:
            raise IndexError(9)  # noqa: B904

    def by_name():
        try:
            raise nested()
        except* ValueError as error:
            raise error  # noqa: TRY201

    def groups():
        try:
            raise nested()
        except* ValueError:
            raise ExceptionGroup("new", [IndexError(1)])  # noqa: B904
        except* TypeError as error:
            raise error.exceptions[0]  # noqa: B904

    def with_cause():
        try:
            try:
                raise nested()
            except* ValueError as error:
                raise KeyError(5) from error
        except* KeyError as error:
            cause = error.exceptions[0].__cause__
        return shown(cause)

    return outcome(some_new), outcome(by_name), outcome(groups), outcome(with_cause), x + 1


@case(ops=1)
def clauses_with_else_and_finally(x):
    order = []
    for fails in (False, True):
        try:
            if fails:
                raise nested()
        except* Exception:
            order.append("except")
        else:
            order.append("else")
        finally:
            order.append("finally")
    return order, x + 1


class Marked(ExceptionGroup):
    def derive(self, exceptions):
        return Marked(self.message + "!", exceptions)


@case(ops=1)
def groups_taken_apart(x):
    group = nested()
    first, rest = group.split(ValueError)
    parts = [shown(first), shown(rest), shown(group.subgroup(lambda error: isinstance(error, OSError)))]
    parts += [group.subgroup(KeyError), str(group), repr(group), shown(group.derive([KeyError(1)]))]
    parts += [
        group.split(ExceptionGroup)[0] is group,
        shown(Marked("m", [ValueError(), KeyError()]).split(KeyError)[0]),
    ]
    return parts, outcome(lambda: group.split(3)), outcome(lambda: group.split(int)), x + 1


@case(ops=1)
def groups_that_cannot_be(x):
    made = [
        outcome(lambda args=args: ExceptionGroup(*args))
        for args in (
            (1,),
            ("m", 3),
            ("m", []),
            (1, [ValueError()]),
            ("m", [3]),
            ("m", [ValueError], 3),
            ("m", [KeyboardInterrupt()]),
        )
    ]
    kinds = [type(BaseExceptionGroup("m", [inner])).__name__ for inner in (ValueError(), KeyboardInterrupt())]
    return made, kinds, x + 1


@case(ops=1)
def a_group_that_leaves_the_frame(x):
    made = ExceptionGroup("m", [ValueError(1)])
    made.add_note("n")
    return shown(made), made.__notes__, x + 1


@case(graphs=None)
def breaks_around_the_clauses(x):
    seen = []
    try:
        capture.graph_break()
        raise nested()
    except* ValueError as error:
        capture.graph_break()
        seen.append(shown(error))
        seen.append(sys.exc_info()[1] is error)
    except* Exception as error:
        seen.append(shown(error))
    try:
        try:
            capture.graph_break()
            raise nested()
        except* ValueError:
            capture.graph_break()
            raise
        except* OSError:
            pass
    except ExceptionGroup as error:
        seen.append(shown(error))
    return seen, x + 1
