"""Checks that come before all draws of random numbers.

In:  the calls of a lowering, its roots, and what each item needs directly.
Out: the roots that may fail and need no random number.

    _assert_async(p > 0); noise = draw(exponential_); argmax(p / noise)    ->    the root of p > 0

Eager runs a failed graph again, and draws again. So each draw needs these roots, although it reads nothing of
them. Then fusion joins neither them nor what they need with a root behind a draw.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from codegen.kernel.program import ExternStep, Step, ViewStep
from codegen.passes.graph.failures import is_draw, may_fail
from codegen.passes.group.roots import Root, own_definitions

Item = Root | ExternStep | ViewStep


def early_checks(
    steps: Iterable[Step], roots: list[Root], before: Callable[[Item], Iterable[Item]]
) -> list[Root]:
    """None where nothing draws."""
    if not any(map(is_draw, steps)):
        return []
    by_value = {root.value: root for root in roots}
    failing = [root for root in roots if any(map(may_fail, own_definitions(root, by_value)))]
    late = _behind_draws(failing, before)
    return [root for root in failing if id(root) not in late]


def _behind_draws(starts: Iterable[Item], before: Callable[[Item], Iterable[Item]]) -> set[int]:
    """The ids of the draws and of what needs one, among `starts` and all that they need.

    It is a loop, because chains may be too long for recursion. It ends for circles, too: who sorts the roots
    tells of them.
    """
    found: set[int] = set()
    opened: set[int] = set()
    done: set[int] = set()
    stack = list(starts)
    while stack:
        item = stack[-1]
        needed = list(before(item))
        waiting = [other for other in needed if id(other) not in done]
        if waiting and id(item) not in opened:
            opened.add(id(item))
            stack.extend(waiting)
            continue
        stack.pop()
        done.add(id(item))
        if is_draw(item) or any(id(other) in found for other in needed):
            found.add(id(item))
    return found
