"""BasicKarel: an avatar on a 4×4 grid turns one grid into another."""
