"""Any environment, from what a user writes: a name, a Gymnasium id, or a function of their own.

`functions` loads functions from files and modules, `source` makes environments in every process,
`resolve` finds the source that a text names, and `pools` reads the tasks to play.
"""
