"""Direct SSH to the hosts of a site, always with checked host keys."""

import logging

# What goes wrong is raised, and told in words. Paramiko would print its threads' tracebacks besides.
logging.getLogger("paramiko").setLevel(logging.CRITICAL)
