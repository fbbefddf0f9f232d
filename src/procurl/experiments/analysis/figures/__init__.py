"""Figures over many runs, each as a PNG and an SVG file."""
