"""Rewritten bytecode as Python text."""

from capture.decompile.text import Decompiled, decompile

__all__ = ["Decompiled", "decompile"]
