"""Look at all hosts side by side and run the jobs; the tests only read what came back.

Three rounds (see remote/probe.py): seed, probe, collect. The jobs run beside them. A host costs one connection and two
round trips; the controller and who serves a shared path three.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from hpcprov.site import Host, Site
from hpcprov.verify import expect
from hpcprov.verify.run_note import RunNote
from hpcprov.verify.transport import RemoteError, Transport, UnreachableError

PARALLEL = 128  # connections at once


@dataclass
class Probe:
    """What one host said. `error` is set when it could not be asked."""

    host: Host
    facts: dict[str, Any] = field(default_factory=dict)
    error: str | None = None
    sent: float = 0.0
    received: float = 0.0

    def get(self, part: str) -> Any:
        """One part of the facts, None where the host has no such part."""
        return self.facts.get(part)

    @property
    def clock_bounds(self) -> tuple[float, float]:
        """The host's clock is ahead of ours by something between these seconds.

        Its first word came after we sent, its last one before we received; the gap is the time on the way.
        """
        return self.facts["finished"] - self.received, self.facts["started"] - self.sent


class Cluster:
    """A site under test. Everything is gathered once, when first asked for."""

    def __init__(self, site: Site, hosts: Sequence[str] = ()) -> None:
        self.site = site
        self.chosen = [host for host in site.cluster_hosts if not hosts or host.name in hosts]
        self.smoke_user = expect.smoke_user(site)
        self.controller = expect.controller(site)
        self.submit_host = expect.submit_host(site)
        self.unreachable: dict[str, str] = {}  # host to what ssh said
        self.run_id = secrets.token_hex(4)
        self._transport = Transport(site)
        self._pool = ThreadPoolExecutor(max_workers=PARALLEL)
        self._started: dict[str, Future[Any]] = {}

    # Gathering. `start_*` may be called early, so that jobs and probes run side by side.

    def start_probes(self) -> None:
        """Begin with the rounds over all hosts."""
        if "probes" not in self._started:
            self._note = RunNote(self.site.state_dir, self.run_id)
            self._started["probes"] = self._pool.submit(self._gather)

    def start_jobs(self, *, run: bool = True, parallel: bool = True) -> None:
        """Begin with the jobs: on every node, and the two-node programs."""
        if "jobs" not in self._started:
            self._started["jobs"] = self._pool.submit(self._submit, run, parallel)

    @property
    def _gathered(self) -> tuple[dict[str, Probe], dict[str, Probe], dict[str, Probe]]:
        self.start_probes()
        result: tuple[dict[str, Probe], dict[str, Probe], dict[str, Probe]] = self._started["probes"].result()
        return result

    @property
    def seeds(self) -> dict[str, Probe]:
        """First round, by host."""
        return self._gathered[0]

    @property
    def probes(self) -> dict[str, Probe]:
        """Second round, by host."""
        return self._gathered[1]

    @property
    def collected(self) -> dict[str, Probe]:
        """Third round, by host."""
        return self._gathered[2]

    @property
    def jobs(self) -> dict[str, Any]:
        """What the job script said; `error` when it could not run at all."""
        self.start_jobs()
        result: dict[str, Any] = self._started["jobs"].result()
        return result

    @cached_property
    def config(self) -> dict[str, Any]:
        """The running controller's configuration, `error` where it does not answer."""
        seed = self.seeds.get(self.controller or "")
        return (seed.get("config") if seed and not seed.error else None) or {"error": "no controller was asked"}

    @cached_property
    def seed_of(self) -> dict[str, str]:
        """Shared path to the host that seeds it."""
        return expect.seed_hosts(self.site)

    @cached_property
    def files(self) -> dict[str, str | None]:
        """Digests of the controller's files of Slurm, empty where it cannot be asked."""
        seed = self.seeds.get(self.controller or "")
        return (seed.get("files") if seed and not seed.error else None) or {}

    @staticmethod
    def conf_dir(host: Host) -> str:
        """Directory of Slurm's files on a host."""
        return expect.conf_dir(host)

    def known(self, part: str) -> Probe | None:
        """Whom the others are compared with, None when nobody could say."""
        asked = [self.seeds[self.controller]] if self.controller in self.seeds else []
        told = (probe for probe in [*asked, *self.probes.values()] if probe.get(part))
        return next((probe for probe in told if "error" not in probe.get(part)), None)

    def reference(self, part: str) -> Probe:
        """Whom the others are compared with: the controller, also when it is not chosen, else the first who knows."""
        found = self.known(part)
        if found is None:
            raise LookupError(f"no host tells about {part.replace('_', ' ')}")
        return found

    def close(self) -> None:
        """End connections."""
        self._pool.shutdown(wait=True, cancel_futures=True)
        self._transport.close()

    # Rounds

    def _round(self, name: str, parameters: dict[str, dict[str, Any]]) -> dict[str, Probe]:
        """Run the probe on these hosts side by side."""
        with ThreadPoolExecutor(max_workers=PARALLEL) as pool:
            futures = {host: pool.submit(self._ask, host, {"round": name, **p}) for host, p in parameters.items()}
            return {host: future.result() for host, future in futures.items()}

    def _ask(self, name: str, parameters: dict[str, Any]) -> Probe:
        probe = Probe(self.site.hosts[name], sent=time.time())
        try:
            probe.facts = self._transport.run(name, "probe", {**self._common(name), **parameters})
        except RemoteError as error:
            probe.error = str(error)
            self._remember(name, error)
        probe.received = time.time()
        return probe

    def _common(self, name: str) -> dict[str, Any]:
        return {
            "run_id": self.run_id,
            "host": name,
            "cluster": self.site.cluster_name,
            "smoke_user": self.smoke_user,
            "is_controller": name == self.controller,
            "users": expect.fixed_users(self.site),
            "munge_key": expect.MUNGE_KEY,
            "daemon": expect.daemon(self.site.hosts[name]),
            "conf_dir": expect.conf_dir(self.site.hosts[name]),
        }

    def _gather(self) -> tuple[dict[str, Probe], dict[str, Probe], dict[str, Probe]]:
        seeding = {*self.seed_of.values(), *([self.controller] if self.controller else [])}
        seeds = self._round("seed", {name: {"seed_paths": self._seeded_by(name)} for name in seeding})
        shared = {
            path: {"host": name, **seeds[name].facts["shared"][path]}
            for path, name in self.seed_of.items()
            if not seeds[name].error and seeds[name].facts["shared"].get(path, {}).get("directory")
        }
        seed = seeds.get(self.controller or "")
        credential = ((seed.get("munge") if seed else None) or {}).get("credential")
        gres_conf = (seed.get("gres_conf") if seed else None) or ""
        config = (seed.get("config") if seed else None) or {}
        probes = self._round(
            "probe", {host.name: self._wanted(host, shared, credential, config, gres_conf) for host in self.chosen}
        )
        credentials = {
            name: probe.facts["munge"]["credential"]
            for name, probe in probes.items()
            if (probe.get("munge") or {}).get("credential")
        }
        pairs = expect.munge_pairs([host.name for host in self.chosen], self.controller)
        collect: dict[str, dict[str, Any]] = {}
        for name in {*seeding, *pairs}:
            asked = seeds.get(name) or probes.get(name)
            wanted = {other: credentials[other] for other in pairs.get(name, credentials) if other in credentials}
            if asked and not asked.error and (name in seeding or wanted):
                seeded = {path: entry for path, entry in shared.items() if entry["host"] == name}
                collect[name] = {"seeded": seeded, "credentials": wanted, "abandoned": self._note.abandoned}
        collected = self._round("collect", collect)
        if all(name in collected and not collected[name].error for name in seeding):
            self._note.settle()
        return seeds, probes, collected

    def _seeded_by(self, name: str) -> list[str]:
        return [path for path, host in self.seed_of.items() if host == name]

    def _wanted(
        self,
        host: Host,
        shared: dict[str, Any],
        credential: str | None,
        config: dict[str, Any],
        gres_conf: str,
    ) -> dict[str, Any]:
        """Parameters of the second round for one host."""
        writable = expect.writable_paths(self.site, host)
        alternatives = [*expect.units(host).values(), expect.time_units(host), ["nfs-server", "nfs-ganesha"]]
        return {
            "names": expect.names(self.site),
            "units": sorted({name for names in alternatives for name in names}),
            "munge": host.is_in(*expect.MUNGE_GROUPS),
            "credential": credential,
            "seeded": {path: entry for path, entry in shared.items() if path in writable},
            "paths": list(expect.slurm_paths(config, host).values()),
            "disks": expect.local_paths(config, host),
            "shared_paths": expect.mounted_paths(self.site, host),
            "spool": expect.spool(config, host),
            "state": str(config.get("StateSaveLocation") or "") or None,
            "devices": expect.devices(gres_conf, host),
            "modules": host.is_in("login", "compute"),
            "frameworks": expect.frameworks(host),
        }

    def _submit(self, run: bool, parallel: bool) -> dict[str, Any]:
        """Run the job script on the submit host."""
        nodes = [host.node_name for host in self.chosen if host.is_in("compute")]
        if not self.submit_host:
            return {"error": "the site has neither a login host nor a controller"}
        kind = expect.mpi_type(self.site)
        parameters = {"nodes": nodes, "run": run or parallel, "parallel": parallel, "mpi_type": kind}
        try:
            answer: dict[str, Any] = self._transport.run(self.submit_host, "jobs", parameters, user=self.smoke_user)
        except RemoteError as error:
            self._remember(self.submit_host, error)
            return {"error": str(error)}
        return answer

    def _remember(self, name: str, error: RemoteError) -> None:
        if isinstance(error, UnreachableError):
            self.unreachable[name] = str(error)
