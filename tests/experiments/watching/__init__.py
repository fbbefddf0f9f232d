"""The live view of a running sweep."""
