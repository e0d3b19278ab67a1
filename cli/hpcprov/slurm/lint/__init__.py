"""Checks Slurm's own configuration files: what its daemons refuse, and what they take and should not."""

from hpcprov.slurm.lint.configuration import KINDS, Configuration
from hpcprov.slurm.lint.load import lint, load
from hpcprov.slurm.lint.registry import rule_texts

__all__ = ["KINDS", "Configuration", "lint", "load", "rule_texts"]
