"""The report of an experiment: one self-contained page, with tables and figures."""

from procurl.experiments.report.page import report_html, write_report

__all__ = ["report_html", "write_report"]
