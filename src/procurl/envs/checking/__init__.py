"""The doctor: what a curriculum would see of an environment and its pool, before training.

`player` plays single tasks, `measurements` holds what is measured and `measure` measures it,
`findings`, `play_findings` and `spaces` judge it, line by line (`finding`), and `check` puts them
together. `at_start` is the short form that runs when training starts.
"""
