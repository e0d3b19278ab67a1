"""Tests of hpcprov.plan."""
