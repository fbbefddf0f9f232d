"""A small language model that adds numbers, trained by GRPO with prompts chosen in several ways.

`sums` makes prompts and judges answers, `model` holds one transformer per run, `grpo` trains them,
`choices` chooses their prompts, `runs` puts these together and `table` compares the runs. All runs
train side by side in one process: the small model of each would leave most of a GPU idle.
"""
