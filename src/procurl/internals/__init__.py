"""What every other package builds on: array namespaces, argument checks, settings and files."""
