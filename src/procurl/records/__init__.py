"""Records of runs: what every engine passes to the store, and what export and reports read.

`evaluation` is the record and the table of its scalars; `experiment` says what was trained and
`results` holds what it produced. `store` keeps both in one SQLite file (`tables`, `packing`),
`run_writer` adds a run that is trained alone, `export` writes it as CSV, and `machine` and
`provenance` say where results came from.
"""
