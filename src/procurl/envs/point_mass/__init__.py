"""PointMass: a point is steered through a gate to a goal. Sparse and dense rewards."""
