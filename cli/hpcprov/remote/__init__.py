"""Direct SSH to the hosts of a site, always with checked host keys."""
