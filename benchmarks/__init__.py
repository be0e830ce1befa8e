"""Benchmarks: `python -m benchmarks` runs all topics, `python -m benchmarks.<topic>` runs one."""
