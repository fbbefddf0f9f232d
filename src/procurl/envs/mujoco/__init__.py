"""What the MuJoCo environments share: the library, threads, pictures, and physics in JAX."""
