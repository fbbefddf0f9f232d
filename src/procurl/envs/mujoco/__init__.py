"""What the MuJoCo environments share: threads, pictures, pools, and physics in JAX."""
