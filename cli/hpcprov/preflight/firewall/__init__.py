"""What packet filters do to a connection, worked out from their rules."""

from hpcprov.preflight.firewall.chains import UNREADABLE, Chain, Filter, Outcome, Packet, Rule, Ruleset, outcome
from hpcprov.preflight.firewall.iptables import parse_iptables
from hpcprov.preflight.firewall.nft import parse_nft

__all__ = [
    "UNREADABLE",
    "Chain",
    "Filter",
    "Outcome",
    "Packet",
    "Rule",
    "Ruleset",
    "outcome",
    "parse_iptables",
    "parse_nft",
]
