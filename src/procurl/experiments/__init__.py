"""Experiments: training strategies over many seeds, and comparing, reporting and recording them.

- `request`: what a user asks; `comparison`: from there to a table and a report; `presets`: the
  paper's settings; `batches`: what a worker gets.
- `engines`: our PPO and Stable-Baselines3's, behind one interface.
- `running`: this machine or a cluster, checkpoints, progress and logs.
- `analysis`, `report`, `watching`: statistics, tables, figures, the page, and the page served live.
- `paper`, `compact_records`, `theory`: the paper's tables and figures, by name.

Importing this package imports none of them: every name below loads its module when it is used.
"""

from typing import TYPE_CHECKING

from procurl.internals.lazy import lazy_names

if TYPE_CHECKING:
    from procurl.experiments.analysis.curve_statistics import (
        area_under_curve,
        steps_to_reach,
        time_to_threshold,
    )
    from procurl.experiments.analysis.curves import curves_from_rows
    from procurl.experiments.analysis.standings import standings, with_test
    from procurl.experiments.analysis.statistics import (
        difference_interval,
        iqm,
        iqm_interval,
        mean_interval,
        probability_of_improvement,
    )
    from procurl.experiments.analysis.tables import (
        as_csv,
        as_markdown,
        as_text,
        final_table,
        numbers_table,
    )
    from procurl.experiments.compact_records.files import load_records, write_records
    from procurl.experiments.compact_records.joining import join_records
    from procurl.experiments.comparison import compare, render
    from procurl.experiments.paper.published import published_number
    from procurl.experiments.presets import Preset, paper_ppo_settings, paper_strategy, preset
    from procurl.experiments.report.page import report_html, write_report
    from procurl.experiments.request import (
        ComparisonRequest,
        EvaluationOptions,
        ExecutionOptions,
        OutputOptions,
        TrainingOptions,
    )
    from procurl.records.evaluation import Evaluation, Snapshot
    from procurl.records.experiment import Experiment, RunPlan
    from procurl.records.export import ExportRow
    from procurl.records.results import Results, RunId
    from procurl.records.store import open_experiment, read_store

_MODULES = {
    "procurl.experiments.analysis.curve_statistics": (
        "area_under_curve",
        "steps_to_reach",
        "time_to_threshold",
    ),
    "procurl.experiments.analysis.curves": ("curves_from_rows",),
    "procurl.experiments.analysis.standings": ("standings", "with_test"),
    "procurl.experiments.analysis.statistics": (
        "difference_interval",
        "iqm",
        "iqm_interval",
        "mean_interval",
        "probability_of_improvement",
    ),
    "procurl.experiments.analysis.tables": (
        "as_csv",
        "as_markdown",
        "as_text",
        "final_table",
        "numbers_table",
    ),
    "procurl.experiments.compact_records.files": ("load_records", "write_records"),
    "procurl.experiments.compact_records.joining": ("join_records",),
    "procurl.experiments.comparison": ("compare", "render"),
    "procurl.experiments.paper.published": ("published_number",),
    "procurl.experiments.presets": ("Preset", "paper_ppo_settings", "paper_strategy", "preset"),
    "procurl.experiments.report.page": ("report_html", "write_report"),
    "procurl.experiments.request": (
        "ComparisonRequest",
        "EvaluationOptions",
        "ExecutionOptions",
        "OutputOptions",
        "TrainingOptions",
    ),
    "procurl.records.evaluation": ("Evaluation", "Snapshot"),
    "procurl.records.experiment": ("Experiment", "RunPlan"),
    "procurl.records.export": ("ExportRow",),
    "procurl.records.results": ("Results", "RunId"),
    "procurl.records.store": ("open_experiment", "read_store"),
}
_MODULE_OF = {name: module for module, names in _MODULES.items() for name in names}

__all__ = [
    "ComparisonRequest",
    "Evaluation",
    "EvaluationOptions",
    "ExecutionOptions",
    "Experiment",
    "ExportRow",
    "OutputOptions",
    "Preset",
    "Results",
    "RunId",
    "RunPlan",
    "Snapshot",
    "TrainingOptions",
    "area_under_curve",
    "as_csv",
    "as_markdown",
    "as_text",
    "compare",
    "curves_from_rows",
    "difference_interval",
    "final_table",
    "iqm",
    "iqm_interval",
    "join_records",
    "load_records",
    "mean_interval",
    "numbers_table",
    "open_experiment",
    "paper_ppo_settings",
    "paper_strategy",
    "preset",
    "probability_of_improvement",
    "published_number",
    "read_store",
    "render",
    "report_html",
    "standings",
    "steps_to_reach",
    "time_to_threshold",
    "with_test",
    "write_records",
    "write_report",
]

__getattr__, __dir__ = lazy_names(__name__, _MODULE_OF)
