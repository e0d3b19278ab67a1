"""Are all hosts there and fit to be converged? Asked before anything changes, and everything told at once."""

from hpcprov.preflight.findings import Finding, Level
from hpcprov.preflight.policy import dead, refusal
from hpcprov.preflight.report import render, summary
from hpcprov.preflight.result import PreflightResult, Reached
from hpcprov.preflight.run import preflight

__all__ = ["Finding", "Level", "PreflightResult", "Reached", "dead", "preflight", "refusal", "render", "summary"]
