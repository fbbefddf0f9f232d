"""Training batches on this machine or a cluster, with checkpoints, progress and logs."""
