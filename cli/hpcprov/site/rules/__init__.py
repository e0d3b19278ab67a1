"""What a site must fulfil. One rule is one function; the registry knows them all."""

from hpcprov.site.rules.registry import Draft, Rule, load_rules, rule, rule_texts, run_rules

__all__ = ["Draft", "Rule", "load_rules", "rule", "rule_texts", "run_rules"]
