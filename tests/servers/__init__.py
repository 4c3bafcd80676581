"""Real Redis and Valkey servers for the tests, under our own supervision, and faults before them."""
