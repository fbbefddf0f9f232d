"""Small pictures of tasks."""

from procurl.experiments.report.task_pictures import task_pictures
from tests.experiments.report.report_results import report_results


def test_pictures_are_small_files_of_the_environments_own_drawing():
    pool = report_results().pool
    found = task_pictures("pointmass-s", pool, [3, 5]).by_task
    assert list(found) == [3, 5]
    for address in found.values():
        assert address.startswith("data:image/png;base64,iVBOR")
        assert len(address) < 4000
