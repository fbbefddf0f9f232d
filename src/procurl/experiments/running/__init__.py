"""Training the batches of an experiment: here or on a cluster, with checkpoints and progress."""
