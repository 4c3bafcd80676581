"""Agents to read and to copy."""
