"""What a site must fulfil. One rule is one function; the registry knows them all."""

from hpcprov.site.rules.registry import RULES, Draft, Rule, rule, run_rules

__all__ = ["RULES", "Draft", "Rule", "rule", "run_rules"]
