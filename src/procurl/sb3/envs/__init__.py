"""The environments that a model trains in and is evaluated in, and what it sees there."""
