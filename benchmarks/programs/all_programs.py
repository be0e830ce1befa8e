"""Imports every module with programs, so that the table is full."""

from __future__ import annotations

from benchmarks.programs import (
    classics,
    continuous,
    decoding,
    detection,
    generative,
    graph_networks,
    language,
    pictures,
    reinforcement,
    science,
    tabular,
    tuning,
    vision,
)
from benchmarks.programs.registry import PROGRAMS

__all__ = [
    "PROGRAMS",
    "classics",
    "continuous",
    "decoding",
    "detection",
    "generative",
    "graph_networks",
    "language",
    "pictures",
    "reinforcement",
    "science",
    "tabular",
    "tuning",
    "vision",
]
