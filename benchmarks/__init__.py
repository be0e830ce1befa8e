"""Measurements, one script a topic: `python -m benchmarks` runs them all, `python -m benchmarks.<topic>` one."""
