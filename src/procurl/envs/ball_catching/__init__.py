"""BallCatching: a robot arm catches a ball in a net. Needs MuJoCo."""
