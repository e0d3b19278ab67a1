"""The only place that starts Ansible: environment, run, events in, progress and failures out."""
