"""Polyfills of `re.sub` and `re.subn` with a function that computes the replacement of each match.

In:  a pattern, the function, a constant string, and the largest number of replacements.
Out: the new string; for `subn` also the number of replacements.
"""

from __future__ import annotations

import re
from typing import Any


def substitute(pattern: Any, repl: Any, string: Any, count: int = 0) -> Any:
    return substitute_and_count(pattern, repl, string, count)[0]


def substitute_and_count(pattern: Any, repl: Any, string: Any, count: int = 0) -> Any:
    pieces, end, done = [], 0, 0
    for match in matches(pattern, string, count):
        if end < match.start():
            pieces.append(string[end : match.start()])
        written = repl(match)
        if written is not None:
            pieces.append(written)
        end = match.end()
        done += 1
    if end < len(string):
        pieces.append(string[end:])
    return string[:0].join(pieces), done


def matches(pattern: re.Pattern[Any], string: Any, count: int) -> tuple[re.Match[Any], ...]:
    """The matches that a substitution replaces. The real `sub` finds them."""
    found: list[re.Match[Any]] = []

    def note(match: re.Match[Any]) -> Any:
        found.append(match)
        return match.group()[:0]

    pattern.sub(note, string, count)
    return tuple(found)
