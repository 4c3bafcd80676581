"""The pure transitions: ``(run, ..., moment) -> Change``. No clock, no store, no await."""
