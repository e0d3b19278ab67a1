"""Reads what other tools say about a cluster, and makes a site file of it."""
