"""The live view of a running sweep: `procurl watch` serves its report and progress.

`status` reads the progress from the store, and `server` serves it with the report, read-only.
"""
