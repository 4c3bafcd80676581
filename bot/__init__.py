"""Where people answer, and where everything is wired together."""
