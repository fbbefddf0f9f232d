"""What `benchmarks/peers.py` compares: training, curricula, and callbacks of procurl and others."""
