"""Imports every module with programs, so that the table is full."""

from __future__ import annotations

from benchmarks.programs import classics, generative, graph_networks, language, reinforcement, science, vision
from benchmarks.programs.registry import PROGRAMS

__all__ = [
    "PROGRAMS",
    "classics",
    "generative",
    "graph_networks",
    "language",
    "reinforcement",
    "science",
    "vision",
]
