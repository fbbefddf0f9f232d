"""SparseGoal: a point walks around a square wall to a goal of a given size. Sparse rewards."""
