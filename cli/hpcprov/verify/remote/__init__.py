"""Scripts that run on the hosts. Standard library only, Python 3.8 or newer; each prints one JSON line."""
