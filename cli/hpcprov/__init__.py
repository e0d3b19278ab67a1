"""hpcprov: from bare machines to a working Slurm cluster, proved by a training job."""

__version__ = "0.1.0"
