"""Small problems on which curricula are tried, which differ in as much as problems can differ.

`problem` says what a problem is. `control`, `grids` and `levels` hold environments, `sb3_runs`
trains algorithms of Stable-Baselines3 in them, and `bandits` holds learners of a few lines.
`catalog` lists the problems, `sweep` trains them and `table` compares the strategies. The command
is `benchmarks/problems.py`.
"""
