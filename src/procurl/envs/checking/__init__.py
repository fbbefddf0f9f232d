"""The doctor: what a curriculum would see of an environment and its pool, before training.

`player` plays single tasks, `measurements` holds what is measured and `measure` measures it,
`findings` and `spaces` judge it, and `check` puts them together. `at_start` is the short form that
runs when training starts.
"""
