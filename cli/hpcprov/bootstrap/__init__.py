"""Make fresh hosts ready for Ansible: an admin user with a key and sudo, and Python. Nothing is ever locked out."""
