#!/usr/bin/env python3
"""Train a small CNN on all ranks of a Slurm step, and prove that the cluster did it.

One process per task of `srun`: DistributedDataParallel over gloo (CPUs) or NCCL (GPUs). Rank 0 writes the
result; the step fails unless every condition of `shortcomings` holds.
"""

from __future__ import annotations

import argparse
import hashlib
import ipaddress
import json
import os
import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

# Above Slurm's own ports, below the kernel's ephemeral ports.
FIRST_PORT, PORTS = 20000, 12000


@dataclass(frozen=True)
class Place:
    """Where this process stands in the job."""

    rank: int
    local_rank: int
    world_size: int
    threads: int
    job_id: int
    node: str
    master: str
    port: int
    interface: str


def job_port(job_id: int) -> int:
    """A rendezvous port that two jobs on the same node do not share."""
    return FIRST_PORT + job_id % PORTS


def interface_on(network: str, addresses: list[dict[str, Any]]) -> str:
    """The interface with an address inside `network` (CIDR); `addresses` is what `ip -json address` prints."""
    wanted = ipaddress.ip_network(network, strict=False)
    for link in addresses:
        for info in link.get("addr_info", []):
            if "local" in info and ipaddress.ip_address(info["local"]) in wanted:
                return str(link["ifname"])
    raise SystemExit(f"no interface of {os.uname().nodename} has an address in the cluster network {network}")


def output_of(*command: str) -> str:
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def find_place(environment: Mapping[str, str], network: str) -> Place:
    """Read the step's environment. The rendezvous is the first node of the job's own list, never localhost."""
    nodes = output_of("scontrol", "show", "hostnames", environment["SLURM_JOB_NODELIST"]).split()
    job_id = int(environment["SLURM_JOB_ID"])
    return Place(
        rank=int(environment["SLURM_PROCID"]),
        local_rank=int(environment["SLURM_LOCALID"]),
        world_size=int(environment["SLURM_NTASKS"]),
        threads=int(environment.get("SLURM_CPUS_PER_TASK", "1")),
        job_id=job_id,
        node=environment.get("SLURMD_NODENAME", os.uname().nodename.split(".")[0]),
        master=nodes[0],
        port=job_port(job_id),
        interface=interface_on(network, json.loads(output_of("ip", "-json", "address", "show"))),
    )


def shortcomings(result: Mapping[str, Any], options: argparse.Namespace) -> list[str]:
    """Every reason why the job did not prove the cluster."""
    found = []
    if result["accuracy"] < options.min_accuracy:
        found.append(f"test accuracy {result['accuracy']:.3f} is below {options.min_accuracy}")
    if len(result["loss"]) < 2 or result["loss"][-1] >= result["loss"][0]:
        found.append(f"the loss did not fall: {result['loss']}")
    if result["world_size"] != options.tasks:
        found.append(f"{result['world_size']} ranks trained, {options.tasks} tasks were asked for")
    if len(result["nodes"]) < options.nodes:
        found.append(f"trained on {len(result['nodes'])} nodes, not on {options.nodes}: {result['nodes']}")
    if not result["weights_equal"]:
        found.append("the ranks ended with different weights")
    return found


def cnn() -> Any:
    from torch import nn

    return nn.Sequential(
        nn.Conv2d(1, 32, 3), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(32, 64, 3), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(64, 64, 3), nn.ReLU(),
        nn.Flatten(), nn.Linear(64 * 3 * 3, 64), nn.ReLU(), nn.Linear(64, 10),
    )  # fmt: skip


def join(place: Place, backend: str, timeout: int) -> None:
    """Meet the other ranks, over the cluster network only."""
    import torch
    import torch.distributed as dist

    # The name differs from node to node, so each rank looks up its own. "=": exact for NCCL, not a prefix.
    os.environ["GLOO_SOCKET_IFNAME"] = place.interface
    os.environ["NCCL_SOCKET_IFNAME"] = f"={place.interface}"
    os.environ["MASTER_ADDR"] = place.master
    os.environ["MASTER_PORT"] = str(place.port)
    if backend == "nccl":
        if place.local_rank >= torch.cuda.device_count():
            raise SystemExit(f"{place.node}: more tasks than GPUs ({torch.cuda.device_count()})")
        torch.cuda.set_device(place.local_rank)
    dist.init_process_group(backend, rank=place.rank, world_size=place.world_size, timeout=timedelta(seconds=timeout))
    if dist.get_world_size() != place.world_size:
        raise SystemExit(f"world size {dist.get_world_size()}, but SLURM_NTASKS={place.world_size}")


def same_weights(model: Any, device: Any) -> bool:
    """Whether all ranks hold bit-equal weights: compare their hashes."""
    import torch
    import torch.distributed as dist

    digest = hashlib.sha256()
    for tensor in model.state_dict().values():
        digest.update(tensor.detach().cpu().contiguous().numpy().tobytes())
    mine = torch.tensor(list(digest.digest()), dtype=torch.uint8, device=device)
    everyone = [torch.empty_like(mine) for _ in range(dist.get_world_size())]
    dist.all_gather(everyone, mine)
    return all(torch.equal(mine, other) for other in everyone)


def train_epoch(model: Any, optimizer: Any, data: Mapping[str, Any], mine: list[int], batch: int) -> Any:
    """One pass over this rank's shard; returns (sum of losses, samples) as a tensor."""
    import torch
    from torch.nn.functional import cross_entropy

    images, labels = data["train_images"], data["train_labels"]
    total = torch.zeros(2, device=images.device)
    for start in range(0, len(mine), batch):
        index = torch.tensor(mine[start : start + batch], device=images.device)
        optimizer.zero_grad(set_to_none=True)
        loss = cross_entropy(model(images[index]), labels[index])
        loss.backward()
        optimizer.step()
        total += torch.tensor([loss.item() * len(index), len(index)], device=images.device)
    return total


def count_correct(model: Any, images: Any, labels: Any, place: Place) -> Any:
    """Right answers of this rank's share of the test set, and how many it saw."""
    import torch

    mine = slice(place.rank, None, place.world_size)
    with torch.inference_mode():
        right = (model(images[mine]).argmax(1) == labels[mine]).sum().item()
    return torch.tensor([float(right), float(len(labels[mine]))], device=images.device)


def train(place: Place, options: argparse.Namespace) -> dict[str, Any]:
    import numpy as np
    import torch
    import torch.distributed as dist
    from torch.nn.parallel import DistributedDataParallel
    from torch.utils.data import DistributedSampler

    backend = "nccl" if options.accelerator == "cuda" else "gloo"
    torch.set_num_threads(place.threads)
    torch.manual_seed(options.seed)
    join(place, backend, options.timeout)
    device = torch.device("cuda", place.local_rank) if backend == "nccl" else torch.device("cpu")
    data = {name: torch.from_numpy(array).to(device) for name, array in np.load(options.data).items()}
    model = cnn().to(device)
    parallel = DistributedDataParallel(model)
    optimizer = torch.optim.Adam(parallel.parameters(), lr=options.learning_rate)
    sampler: Any = DistributedSampler(data["train_labels"], place.world_size, place.rank, seed=options.seed)
    batch = max(1, options.batch_size // place.world_size)
    losses: list[float] = []
    accuracies: list[float] = []
    seconds, seen, accuracy = 0.0, 0, 0.0
    for epoch in range(options.epochs):
        sampler.set_epoch(epoch)
        started = time.perf_counter()
        total = train_epoch(parallel, optimizer, data, list(sampler), batch)
        dist.all_reduce(total)
        took = time.perf_counter() - started
        correct = count_correct(model, data["test_images"], data["test_labels"], place)
        dist.all_reduce(correct)
        losses.append(round(total[0].item() / total[1].item(), 4))
        accuracy = correct[0].item() / correct[1].item()
        accuracies.append(round(accuracy, 4))
        seconds, seen = seconds + took, seen + int(total[1].item())
        if place.rank == 0:
            print(
                f"epoch {epoch + 1:2d}  loss {losses[-1]:.4f}  test accuracy {accuracy:.3f}"
                f"  {total[1].item() / took:.0f} samples/s",
                flush=True,
            )
        if accuracy >= options.target_accuracy and len(losses) > 1 and losses[-1] < losses[0]:
            break
    equal = same_weights(model, device)
    nodes: list[Any] = [None] * place.world_size
    dist.all_gather_object(nodes, place.node)
    # A rank that leaves while another still talks to it takes that one down with it.
    dist.barrier()
    dist.destroy_process_group()
    return {
        "accuracy": round(accuracy, 4),
        "loss": losses,
        "accuracies": accuracies,
        "epochs": len(losses),
        "ranks": place.world_size,
        "world_size": place.world_size,
        "nodes": sorted(set(nodes)),
        "samples_per_second": round(seen / seconds, 1),
        "backend": backend,
        "framework": f"PyTorch {torch.__version__}",
        "job_id": place.job_id,
        "weights_equal": equal,
    }


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--result", type=Path, required=True)
    parser.add_argument("--network", required=True, help="cluster network, CIDR")
    parser.add_argument("--tasks", type=int, required=True, help="ranks that were asked for")
    parser.add_argument("--nodes", type=int, required=True, help="nodes that must take part")
    parser.add_argument("--accelerator", choices=["cpu", "cuda"], default="cpu")
    parser.add_argument("--min-accuracy", type=float, default=0.95)
    parser.add_argument("--target-accuracy", type=float, default=0.97, help="stop training once reached")
    parser.add_argument("--epochs", type=int, default=20, help="at most")
    parser.add_argument("--batch-size", type=int, default=64, help="of all ranks together")
    parser.add_argument("--learning-rate", type=float, default=3e-3)
    parser.add_argument("--seed", type=int, default=1797)
    parser.add_argument("--timeout", type=int, default=90, help="seconds to wait for another rank")
    return parser.parse_args()


def write_result(path: Path, result: Mapping[str, Any]) -> None:
    draft = path.with_suffix(".draft")
    draft.write_text(json.dumps(result, indent=2) + "\n")
    draft.replace(path)


def main() -> int:
    options = arguments()
    place = find_place(os.environ, options.network)
    print(
        f"rank {place.rank} of {place.world_size} on {place.node}: {place.threads} threads, "
        f"{place.interface}, meeting at {place.master}:{place.port}",
        flush=True,
    )
    result = train(place, options)
    failures = shortcomings(result, options)
    if place.rank == 0:
        write_result(options.result, {**result, "verdict": "failed" if failures else "passed", "failures": failures})
        for failure in failures:
            print(f"not passed: {failure}", flush=True)
    return 1 if failures else 0


if __name__ == "__main__":
    code = main()
    sys.stdout.flush()
    sys.stderr.flush()
    # Not sys.exit: all is done and written, but threads of gloo may still be ending while the interpreter takes itself
    # down, and then abort it ("terminate called without an active exception").
    os._exit(code)
