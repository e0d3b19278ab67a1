"""Slurm's text, written and read by pure functions."""
