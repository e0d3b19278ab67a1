"""Role mpi: what a user compiles runs across nodes under Slurm, over the cluster network."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hpcprov.site import Site

AS_USER = "cd /shared/mpi && runuser -l hpcsmoke -c "
MPI = r"""
#include <mpi.h>
#include <stdio.h>
int main(int argc, char **argv) {
  int rank, size, length, sum = 0;
  char name[MPI_MAX_PROCESSOR_NAME];
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Get_processor_name(name, &length);
  int mine = rank + 1;
  MPI_Allreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  printf("%d of %d on %s: %d\n", rank, size, name, sum);
  MPI_Finalize();
  return 0;
}
"""
OPENMP = r"""
#include <omp.h>
#include <stdio.h>
int main(void) {
  int threads = 0;
  #pragma omp parallel reduction(+ : threads)
  threads += 1;
  printf("%d\n", threads);
  return 0;
}
"""


@pytest.fixture(scope="module")
def head(nodes: Callable[[str], Any]) -> Any:
    host = nodes("head")
    host.check_output("install -d -o hpcsmoke -g hpcsmoke /shared/mpi")
    for name, source in {"mpi.c": MPI, "omp.c": OPENMP}.items():
        host.check_output("printf %%s %s > /shared/mpi/%s", source, name)
    return host


# MPI-02, MPI-04, MPI-06: as an ordinary user
def test_program_runs_across_both_nodes_through_pmix(head: Any) -> None:
    head.check_output(AS_USER + "'cd /shared/mpi && mpicc -o mpi mpi.c'")
    said = head.check_output(AS_USER + "'srun -N2 -n4 --mpi=pmix /shared/mpi/mpi </dev/null'")
    assert sorted(said.splitlines()) == [
        "0 of 4 on head: 10", "1 of 4 on head: 10", "2 of 4 on node01: 10", "3 of 4 on node01: 10",
    ]  # fmt: skip


# MPI-01
def test_pmix_is_what_srun_takes_by_itself(head: Any) -> None:
    assert "pmix" in head.check_output("scontrol show config | grep MpiDefault")


def test_openmp_program_uses_the_threads_it_is_given(head: Any) -> None:
    head.check_output(AS_USER + "'cd /shared/mpi && gcc -fopenmp -o omp omp.c'")
    assert head.check_output(AS_USER + "'OMP_NUM_THREADS=2 srun -n1 -c2 /shared/mpi/omp </dev/null'") == "2"


@pytest.mark.groups("compute")
def test_module_gives_the_compiler(node: Any) -> None:
    said = node.check_output("bash -lc 'module load openmpi && echo $SLURM_MPI_TYPE && command -v $MPICC'")
    assert said.splitlines() == ["pmix", "/usr/bin/mpicc.openmpi"]


@pytest.mark.groups("compute")
def test_modules_of_the_share_are_found(node: Any) -> None:
    node.check_output("mkdir -p /shared/software/modulefiles/mine")
    node.check_output('echo \'setenv("MINE", "found")\' > /shared/software/modulefiles/mine/1.0.lua')
    assert node.check_output("runuser -l hpcsmoke -s /bin/bash -c 'module load mine && echo $MINE'") == "found"


@pytest.mark.groups("compute")
def test_messages_take_the_cluster_network(site: Site, node: Any) -> None:
    used = node.check_output("ompi_info --all --parsable | grep -E '^mca:btl:tcp:param:btl_tcp_if_include:value:'")
    assert used.rsplit(":", 1)[1] == site.cluster_network
