"""Python wheels for the nodes, resolved on the control host with its own pip configuration.

`resolve` downloads what a framework needs for the nodes' Python and platform, once, and keeps a lock of versions
and hashes beside the files: a rerun resolves nothing and needs no network. It may be called early, from a thread;
whoever asks for the same set meanwhile (the role `frameworks`) waits on a file lock and finds it done.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

from hpcprov.errors import HpcprovError
from hpcprov.paths import cache_dir

# Raise it when the meaning of a request changes, so that old locks are not taken for new ones.
SCHEMA = 1
OLDEST_GLIBC_MINOR = 17
LEGACY_PLATFORMS = ("manylinux2014", "manylinux2010", "manylinux1", "linux")
# Installers travel with the wheels: a node needs neither pip nor python3-venv.
INSTALLERS = ("pip", "uv")

# What a host is asked for, as one line of JSON; standard library only, any Python 3.
PROBE = (
    "import json,os,platform;"
    "print(json.dumps({'python':platform.python_version(),'machine':platform.machine(),"
    "'glibc':os.confstr('CS_GNU_LIBC_VERSION').split()[1]}))"
)

# pip judges environment markers by the Python it runs in; the nodes may have another one.
PIP_FOR_TARGET = """
import json, sys
target = json.loads(sys.argv.pop(1))
try:
    from pip._vendor.packaging import markers
    default = markers.default_environment
    markers.default_environment = lambda: {**default(), **target}
except (ImportError, AttributeError):
    pass
from pip._internal.cli.main import main
sys.exit(main(sys.argv[1:]))
"""


class WheelsError(HpcprovError):
    """The wheels of a framework could not be resolved or downloaded."""

    exit_code = 5


@dataclass(frozen=True)
class Framework:
    """How a framework is called on PyPI and in Python. `local` builds carry a label such as +cpu or +cu126."""

    project: str
    cpu_project: str
    cuda_extra: str
    module: str
    imports: tuple[str, ...]
    local_builds: bool = False
    # Loaded by the first training step, not by the import: compiled in advance where they exist.
    warm: tuple[str, ...] = ()

    def project_in(self, lock: Lock) -> str:
        """The project's name in a set: a CPU build may be a project of its own."""
        names = {canonical(wheel.name) for wheel in lock.wheels}
        return self.project if canonical(self.project) in names else self.cpu_project


FRAMEWORKS = {
    "pytorch": Framework(
        project="torch",
        cpu_project="torch",
        cuda_extra="",
        module="torch",
        imports=("torch", "torch.distributed", "torch.nn.parallel"),
        local_builds=True,
        warm=("torch.utils.data", "torch._dynamo"),
    ),
    "tensorflow": Framework(
        project="tensorflow",
        cpu_project="tensorflow-cpu",
        cuda_extra="and-cuda",
        module="tensorflow",
        imports=("tensorflow",),
    ),
    "scikit-learn": Framework(
        project="scikit-learn",
        cpu_project="scikit-learn",
        cuda_extra="",
        module="sklearn",
        imports=("sklearn",),
    ),
}


@dataclass(frozen=True)
class Target:
    """The hosts that will run the wheels: `python` 3.11.2, `machine` x86_64, `glibc` 2.36."""

    python: str
    machine: str
    glibc: str
    accelerator: str = "cpu"

    @property
    def python_minor(self) -> str:
        """Wheels are made for a minor version."""
        return ".".join(self.python.split(".")[:2])

    def platforms(self) -> list[str]:
        """Platform tags that such a host can run, newest first (PEP 600 and its older names)."""
        major, minor = (int(part) for part in self.glibc.split(".")[:2])
        modern = [f"manylinux_{major}_{n}_{self.machine}" for n in range(minor, OLDEST_GLIBC_MINOR - 1, -1)]
        return modern + [f"{name}_{self.machine}" for name in LEGACY_PLATFORMS]

    def pip_options(self) -> list[str]:
        """Options that make pip choose for this target and not for the control host."""
        options = ["--only-binary=:all:", "--python-version", self.python, "--implementation", "cp"]
        for platform in self.platforms():
            options += ["--platform", platform]
        return options

    def markers(self) -> dict[str, str]:
        """The environment markers (PEP 508) of the target."""
        return {
            "python_version": self.python_minor,
            "python_full_version": self.python,
            "implementation_version": self.python,
            "platform_machine": self.machine,
            "platform_system": "Linux",
            "sys_platform": "linux",
            "os_name": "posix",
        }


@dataclass(frozen=True)
class Request:
    """One environment: a framework (in a version, or the newest) and packages beside it, for a target."""

    framework: str
    target: Target
    version: str = ""
    packages: tuple[str, ...] = ("numpy", "scikit-learn")
    pip_options: tuple[str, ...] = ()

    @property
    def key(self) -> str:
        """Names the set in the cache. Patch releases of Python do not matter to a wheel."""
        facts = {
            "schema": SCHEMA,
            **asdict(self),
            "target": {**asdict(self.target), "python": self.target.python_minor},
        }
        digest = hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()
        return f"{self.framework}-{self.target.accelerator}-py{self.target.python_minor}-{digest[:12]}"


@dataclass(frozen=True)
class Wheel:
    """One file of a set."""

    name: str
    version: str
    filename: str
    sha256: str
    size: int


@dataclass(frozen=True)
class Lock:
    """A resolved set of wheels, and where it lies on the control host."""

    key: str
    directory: Path
    wheels: tuple[Wheel, ...]
    warnings: tuple[str, ...] = field(default=())
    resolved_now: bool = False

    def version_of(self, project: str) -> str:
        """Raises WheelsError when the set does not hold the project."""
        for wheel in self.wheels:
            if canonical(wheel.name) == canonical(project):
                return wheel.version
        raise WheelsError(f"{self.key} holds no wheel of {project}")

    @property
    def hash(self) -> str:
        """Changes with any file of the set; the tools that install it do not count."""
        lines = sorted(wheel.sha256 for wheel in self.wheels if canonical(wheel.name) != "uv")
        return hashlib.sha256("\n".join(lines).encode()).hexdigest()


def canonical(name: str) -> str:
    """A project's name as PEP 503 compares it."""
    return re.sub(r"[-_.]+", "-", name).lower()


def resolve(request: Request, *, cache: Path | None = None, say: Callable[[str], None] | None = None) -> Lock:
    """The wheels of a request, from the cache or newly downloaded. Raises WheelsError with pip's last lines."""
    if request.framework not in FRAMEWORKS:
        raise WheelsError(f"unknown framework {request.framework}", hint=f"one of {', '.join(FRAMEWORKS)}")
    root = cache or cache_dir("wheels")
    with locked(root / f".{request.key}.lock"):
        known = load(root / request.key)
        return known or download(request, root, say or (lambda _: None))


def load(directory: Path) -> Lock | None:
    """A set from the cache; None when it is absent, of an older form or not whole."""
    try:
        data = json.loads((directory / "lock.json").read_text())
        wheels = tuple(Wheel(**wheel) for wheel in data["wheels"])
        whole = all((directory / wheel.filename).stat().st_size == wheel.size for wheel in wheels)
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return Lock(directory.name, directory, wheels, tuple(data["warnings"])) if whole else None


def download(request: Request, root: Path, say: Callable[[str], None]) -> Lock:
    """Let pip resolve and fetch into a new directory, which takes its final name when it is complete."""
    requirements, warnings = requirements_for(request)
    for warning in warnings:
        say(warning)
    final = root / request.key
    draft = Path(mkdtemp(prefix=f".{request.key}.", dir=root))
    try:
        say(f"resolving {' '.join(requirements)} for Python {request.target.python_minor}")
        pip(request, "download", "--quiet", "--dest", str(draft), *requirements, *INSTALLERS)
        wheels = tuple(describe(path) for path in sorted(draft.glob("*.whl")))
        data = {
            "key": request.key,
            "requirements": requirements,
            "warnings": warnings,
            "wheels": [asdict(wheel) for wheel in wheels],
        }
        (draft / "lock.json").write_text(json.dumps(data, indent=2) + "\n")
        draft.chmod(0o755)
        shutil.rmtree(final, ignore_errors=True)
        draft.rename(final)
    finally:
        shutil.rmtree(draft, ignore_errors=True)
    return Lock(request.key, final, wheels, tuple(warnings), resolved_now=True)


def requirements_for(request: Request) -> tuple[list[str], list[str]]:
    """What to ask pip for, and what the admin should know about it."""
    framework = FRAMEWORKS[request.framework]
    cuda = request.target.accelerator == "cuda"
    if framework.local_builds:
        offered = [] if "+" in request.version else offered_versions(request, framework.project)
        main, warnings = pick_build(framework.project, request.version, offered, cuda=cuda)
        if request.target.machine != "x86_64":
            warnings = []  # the plain builds of other machines are CPU builds
    else:
        extra = f"[{framework.cuda_extra}]" if cuda and framework.cuda_extra else ""
        plain = cuda or request.target.machine != "x86_64"
        project = framework.project if plain else framework.cpu_project
        main, warnings = f"{project}{extra}" + (f"=={request.version}" if request.version else ""), []
    return [main, *request.packages], warnings


def pick_build(project: str, version: str, offered: Sequence[str], *, cuda: bool) -> tuple[str, list[str]]:
    """The requirement that gets the CPU or the CUDA build of a project whose builds differ by local version.

    `offered` is what pip knows, newest first. A plain request would take the newest release of all, which on
    PyPI is the CUDA build of several gigabytes.
    """
    if "+" in version:
        return f"{project}=={version}", []
    wanted = [v for v in offered if not version or v.split("+")[0] == version]
    cpu_builds = [v for v in wanted if v.endswith("+cpu")]
    if not cuda:
        if cpu_builds:
            return f"{project}=={cpu_builds[0]}", []
        plain = f"{project}=={version}" if version else project
        return plain, [
            f"pip offers no CPU build (+cpu) of {project}: the plain build is taken, which may bring several GB of"
            " CUDA libraries; name an index of CPU builds in dl_pip_options or in this machine's pip configuration"
        ]
    excluded = [f"!={v}" for v in cpu_builds]
    return project + ",".join(([f"=={version}"] if version else []) + excluded), []


def offered_versions(request: Request, project: str) -> list[str]:
    """Versions with their local labels, newest first, that pip's own configuration offers for the target."""
    # `pip index` takes one abi and platform set, and no requirement; it fails when nothing at all is offered.
    answer = run_pip(request, "index", "versions", project)
    found = re.search(r"^Available versions: (.+)$", answer.stdout, re.MULTILINE)
    return [version.strip() for version in found.group(1).split(",")] if found else []


def pip(request: Request, *arguments: str) -> None:
    """Run pip for the target. Raises WheelsError with what pip said last."""
    answer = run_pip(request, *arguments)
    if answer.returncode != 0:
        lines = [line for line in answer.stderr.splitlines() if line.strip()]
        errors = [line for line in lines if line.startswith("ERROR")]
        raise WheelsError(
            f"the wheels of {request.framework} could not be resolved for Python {request.target.python_minor}",
            why=(errors or lines or ["pip said nothing"])[0].removeprefix("ERROR: "),
            hint="check this machine's pip configuration (pip config list), or pin a version in dl_versions",
            journal=lines[-15:],
        )


def run_pip(request: Request, *arguments: str) -> subprocess.CompletedProcess[str]:
    target = request.target
    command = [sys.executable, "-c", PIP_FOR_TARGET, json.dumps(target.markers()), *arguments]
    command += ["--disable-pip-version-check", "--no-input", *target.pip_options(), *request.pip_options]
    return subprocess.run(command, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL)


def describe(path: Path) -> Wheel:
    """Name and version stand in a wheel's file name (PEP 427)."""
    name, version = path.name.split("-")[:2]
    with path.open("rb") as handle:
        digest = hashlib.file_digest(handle, "sha256").hexdigest()
    return Wheel(name, version, path.name, digest, path.stat().st_size)


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Only one process or thread works on a set; the others wait."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w") as handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield


def requests_of(variables: dict[str, Any], target: Target) -> list[Request]:
    """The environments that a site asks for, from its `dl_` variables; the defaults are those of role frameworks."""
    versions = variables.get("dl_versions") or {}
    return [
        Request(
            framework=name,
            target=target,
            version=str(versions.get(name) or ""),
            packages=tuple(variables.get("dl_packages", Request.packages)),
            pip_options=tuple(variables.get("dl_pip_options") or ()),
        )
        for name in variables.get("dl_frameworks", ["pytorch"])
    ]
