"""The report of a trace: one HTML page that needs nothing else."""

from capture.pages.page import write_report

__all__ = ["write_report"]
