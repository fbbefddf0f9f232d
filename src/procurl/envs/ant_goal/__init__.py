"""AntGoal: an ant walks to a goal. Needs MuJoCo."""
