"""What an engine says of a run: one record, one store, one export."""
