"""One approval from end to end, on real parts and on this machine alone."""
