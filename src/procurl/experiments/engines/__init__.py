"""The engines as a sweep drives them: `jax`, `host` and `sb3`, behind the `Trainer` interface."""
