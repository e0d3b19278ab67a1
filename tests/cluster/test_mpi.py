"""Do programs run in parallel, across nodes and within one?"""

import pytest
from hpcprov.verify import causes, expect, judge
from hpcprov.verify.checks import require


@pytest.mark.groups("login", "compute")
def test_mpi_plugin(probe, part, cluster, repair):
    """srun offers what MPI programs are started with, PMIx unless the site says MPICH."""
    answer = part("mpi")
    wanted = expect.mpi_type(cluster.site)
    require(
        any(kind.startswith(wanted) for kind in answer["types"]),
        expected=f"{wanted} in srun --mpi=list",
        found=" ".join(answer["types"]) or answer["error"],
        follows=causes.of_client(cluster, probe.host.name) if not answer["types"] else None,
        cause=f"Slurm's {wanted} plugin is not installed",
        fix=repair("scheduler"),
    )


@pytest.mark.groups("compute")
def test_pmix_library(probe, part, cluster, repair):
    """PMIx library that Slurm's plugin needs loads."""
    if expect.mpi_type(cluster.site) != "pmix":
        pytest.skip("the site's MPI does not use PMIx")
    facts = part("pmix")
    if not facts["packaged"]:
        pytest.skip("Slurm is not from the distribution's packages; the MPI program proves it")
    require(
        facts["library"],
        expected="libpmix.so",
        found="no such file",
        cause="libpmix-dev is missing; every step with --mpi=pmix would hang",
        fix=f"on {probe.host.name}: apt-get install --reinstall libpmix-dev",
    )
    require(
        facts["error"] is None,
        expected=f"{facts['library']} loads",
        found=facts["error"],
        cause="a library that it needs is missing or another version; every step with --mpi=pmix would hang",
        fix=f"on {probe.host.name}: ldd {facts['library']} | grep 'not found'; then {repair('scheduler')}",
    )


def _require_compiled(parallel, kind, repair):
    missing = [name for name in parallel["nodes"] if name not in parallel["compiled"][kind]]
    require(
        not missing,
        expected=f"a compiled {kind} program on {', '.join(parallel['nodes'])}",
        found=f"none on {', '.join(missing)}: {parallel['build_said'] or 'no output'}",
        cause="compilers are missing, or /tmp cannot be written",
        fix=repair("mpi"),
    )


def _pmix_of(cluster, nodes):
    """The node whose PMIx library is known not to load."""
    for host in cluster.chosen:
        facts = cluster.probes[host.name].get("pmix") or {}
        if host.node_name in nodes and facts.get("packaged") and (not facts["library"] or facts["error"]):
            return f"the PMIx library of {host.name} does not load"
    return None


def test_mpi_program(parallel, two_nodes, cluster, repair):
    """MPI program runs on two nodes under srun --mpi=pmix, and its ranks exchange data."""
    kind = expect.mpi_type(cluster.site)
    nodes = parallel["nodes"]
    if len(nodes) < 2:
        pytest.skip(f"of no partition two nodes run jobs, only {', '.join(nodes)}")
    _require_compiled(parallel, "mpi", repair)
    said = sorted(tuple(rank) for rank in parallel["ranks"])
    size, total = str(len(nodes)), str(sum(range(1, len(nodes) + 1)))
    shown = "; ".join(f"rank {rank} of {of} on {host}, sum {got}" for rank, of, got, host in said)
    require(
        [rank[0] for rank in said] == [str(number) for number in range(len(nodes))]
        and all(rank[1:3] == (size, total) for rank in said),
        expected=f"ranks 0 to {len(nodes) - 1} of {size}, each with the sum {total}",
        follows=_pmix_of(cluster, nodes),
        found=(shown or "no rank reported") + (f"; it said: {parallel['mpi_said']}" if parallel["mpi_said"] else ""),
        cause=f"the {kind} plugin or its library on a node, or MPI on the wrong network interface",
        fix=f"srun -N2 -w {','.join(nodes)} --mpi={kind} PROGRAM; see libpmix and OMPI_MCA_btl_tcp_if_include",
    )
    hosts = {rank[3].split(".")[0] for rank in said}
    require(
        hosts == set(nodes),
        expected=f"one rank on each of {', '.join(nodes)}",
        found=f"ranks on {', '.join(sorted(hosts))}",
        fix=f"srun -N2 -w {','.join(nodes)} hostname",
    )


def test_mpi_network(parallel, two_nodes, cluster):
    """MPI ranks talk over the cluster network only."""
    peers = [address for _, *both in parallel["peers"] for address in both]
    if not peers:
        pytest.skip("no TCP between the ranks: they did not run, or talk over a faster network")
    networks = expect.mpi_networks(cluster.site)
    wrong = judge.outside(peers, networks)
    require(
        not wrong,
        expected=f"addresses in {', '.join(networks)}",
        found=", ".join(wrong),
        cause="MPI chose another interface (Docker's, management): openmpi-mca-params.conf does not name mpi_networks",
        fix=f"hpcprov deploy {cluster.site.path} --from mpi --to mpi",
    )


def test_openmp_program(parallel, repair):
    """OpenMP program has as many threads as the task has CPUs."""
    if parallel["cpus"] < 2:
        pytest.skip("the nodes have one CPU each")
    _require_compiled(parallel, "openmp", repair)
    wanted = str(parallel["cpus"])
    said = parallel["threads"]
    require(
        len(said) == len(parallel["nodes"]) and all(row[1:] == [wanted, wanted] for row in said),
        expected=f"{wanted} distinct threads on {', '.join(parallel['nodes'])}",
        found="; ".join(f"{count} threads, {distinct} distinct on {name}" for name, count, distinct in said)
        or parallel["openmp_said"]
        or "no output",
        cause="OMP_NUM_THREADS or --cpus-per-task is not respected",
        fix="srun -c2 env | grep -e OMP -e SLURM_CPUS",
    )
