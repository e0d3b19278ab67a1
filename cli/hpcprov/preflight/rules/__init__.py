"""What hosts must fulfil. One rule is one function in a file of its own; the registry finds them."""

from hpcprov.preflight.rules.registry import Rule, load_rules, rule, run_rules

__all__ = ["Rule", "load_rules", "rule", "run_rules"]
