#!/usr/bin/python
"""A Python environment with a modulefile on shared storage, built aside and switched when it works."""

from __future__ import annotations

DOCUMENTATION = r"""
module: hpc_environment
short_description: Build a Python environment on shared storage and switch to it atomically
description:
  - Without I(lock) it only looks, which is the one call of a run without a change, and tells whether the environment
    is the one that is wanted, which Python would run it, and which wheels are on the share.
  - With I(lock) it builds C(<root>/<name>/<version>-<hash>) from the wheels, without a network, imports what has to
    work, writes the modulefile and only then renames the C(current) link. The paths inside an environment are those
    of its final place, and a build that fails leaves what users work with as it was.
options:
  name: {type: str, required: true, description: 'Name of the environment, such as pytorch.'}
  root: {type: path, required: true, description: Directory on shared storage.}
  modulefiles: {type: path, required: true, description: Directory of the modulefiles on shared storage.}
  wheels: {type: path, required: true, description: Directory of the wheels on shared storage.}
  python: {type: path, default: /usr/bin/python3, description: Python that the environment is made from.}
  wanted:
    type: dict
    required: true
    description: What the site asks for; the environment is rebuilt when it differs from what was asked then.
  lock: {type: dict, description: The resolved set of module hpc_wheels.}
  imports: {type: list, elements: str, default: [], description: Further modules that have to import.}
  installer: {type: str, default: uv, choices: [uv, pip], description: What installs the wheels.}
  compile:
    type: str
    default: auto
    choices: [auto, all, imported]
    description: Which modules are compiled in advance; C(auto) is all with eight CPUs or more.
  keep: {type: int, default: 2, description: Builds to keep; running jobs may use the one before.}
author: [hpcprov]
"""

EXAMPLES = r"""
- name: environment | PyTorch is looked at
  hpc_environment:
    name: pytorch
    root: /shared/software
    modulefiles: /shared/software/modulefiles
    wheels: /shared/software/.wheels
    wanted: {packages: [numpy]}
"""

RETURN = r"""
current: {description: Whether the environment is the one that is wanted., type: bool, returned: always}
target: {description: 'Version of Python, machine and C library of this host.', type: dict, returned: always}
present: {description: Wheels on the share., type: list, returned: always}
path: {description: The environment., type: str, returned: when there is one}
version: {description: Version of the framework., type: str, returned: when there is one}
hpcprov_versions: {description: Name to version for the report of a deploy., type: dict, returned: when there is one}
seconds: {description: Time of each step of a build., type: dict, returned: when it was built}
"""

import csv
import glob
import hashlib
import itertools
import json
import os
import shutil
import subprocess
import tempfile
import time
import zipfile
from contextlib import suppress

from ansible.module_utils.basic import AnsibleModule

STAMP = ".hpcprov.json"
MANY_CPUS = 8
PROBE = (
    "import json,os,platform;"
    "print(json.dumps({'python':platform.python_version(),'machine':platform.machine(),"
    "'glibc':os.confstr('CS_GNU_LIBC_VERSION').split()[1]}))"
)
MODULEFILE = """-- Written by hpcprov; the next build replaces it.
help([[{name} {version}, a Python environment. The module puts its python first in PATH.]])
whatis("Name: {name}")
whatis("Version: {version}")
whatis("Build: {accelerator}")
family("python_environment")
local root = "{path}"
setenv("VIRTUAL_ENV", root)
prepend_path("PATH", pathJoin(root, "bin"))
"""


class BuildError(Exception):
    """A step of the build failed; `output` holds its last lines."""

    def __init__(self, message, output=""):
        super().__init__(message)
        self.output = [line for line in output.splitlines() if line.strip()][-15:]


def run(command, why, **environment):
    """Run a step with a small environment of its own. Raises BuildError."""
    variables = {"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": "/nonexistent", "LC_ALL": "C.UTF-8"}
    done = subprocess.run(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        universal_newlines=True,
        env={**variables, **environment},
        check=False,
    )
    if done.returncode != 0:
        raise BuildError(f"{why}: exit code {done.returncode}", done.stdout)
    return done.stdout


def read_json(path):
    """A JSON file, an empty dictionary when there is none that can be read."""
    try:
        with open(path) as handle:
            return json.load(handle)
    except (OSError, ValueError):
        return {}


def write(path, text):
    """Replace a file at once; tell whether it changed."""
    try:
        with open(path) as handle:
            if handle.read() == text:
                return False
    except OSError:
        pass
    draft = f"{path}.{os.getpid()}"
    with open(draft, "w") as handle:
        handle.write(text)
    os.chmod(draft, 0o644)
    os.rename(draft, path)
    return True


def point(link, target):
    """Make a symbolic link point at `target`, without a moment in which it is absent; tell whether it changed."""
    if os.path.islink(link) and os.readlink(link) == target:
        return False
    draft = f"{link}.{os.getpid()}"
    os.symlink(target, draft)
    os.rename(draft, link)
    return True


def sha256(path):
    digest = hashlib.sha256()
    with open(path, "rb") as handle:
        for block in iter(lambda: handle.read(1 << 20), b""):
            digest.update(block)
    return digest.hexdigest()


def has_its_files(record):
    """Whether all that the RECORD of an installed package lists with a size is there, in that size."""
    packages = os.path.dirname(os.path.dirname(record))
    with open(record, newline="") as handle:
        sizes = [(row[0], int(row[2])) for row in csv.reader(handle) if len(row) == 3 and row[2]]
    try:
        return all(os.stat(os.path.join(packages, name)).st_size == size for name, size in sizes)
    except OSError:
        return False


class Environment:
    """One environment of the site, with all its builds."""

    def __init__(self, params):
        self.p = params
        self.name = params["name"]
        self.folder = os.path.join(params["root"], self.name)
        self.current = os.path.join(self.folder, "current")
        self.modules = os.path.join(params["modulefiles"], self.name)
        self.target = json.loads(run([params["python"], "-c", PROBE], "Python of the environment does not run"))
        self.seconds = {}
        share = os.path.dirname(params["root"].rstrip("/"))
        if not os.path.isdir(share):
            raise BuildError(f"{share} is not on this host: mount the share first, or choose another dl_build_host")

    def wanted(self):
        """What the stamp of a build has to say: the site's wishes, and the platform without patch releases."""
        minor = ".".join(self.target["python"].split(".")[:2])
        return {**self.p["wanted"], "python": minor, "machine": self.target["machine"]}

    def stamp(self):
        return read_json(os.path.join(self.current, STAMP))

    def is_current(self):
        """The build that `current` points at is whole, is what is wanted, and has its modulefile."""
        stamp = self.stamp()
        return (
            stamp.get("wanted") == self.wanted()
            and os.path.exists(os.path.join(self.modules, stamp["module_version"] + ".lua"))
            and self.is_whole(self.current)
        )

    def is_whole(self, path):
        """Each installed file is there and as long as its package says: a look at all of them takes half a second."""
        stamp = read_json(os.path.join(path, STAMP))
        records = glob.glob(os.path.join(path, "lib", "python*", "site-packages", "*.dist-info", "RECORD"))
        if (
            not stamp
            or len(records) < len(stamp["packages"])
            or not os.path.exists(os.path.join(path, "bin", "python"))
        ):
            return False
        return all(has_its_files(record) for record in records)

    def present(self):
        try:
            return sorted(name for name in os.listdir(self.p["wheels"]) if name.endswith(".whl"))
        except OSError:
            return []

    def timed(self, step, work):
        started = time.time()
        result = work()
        self.seconds[step] = round(time.time() - started, 1)
        return result

    def build(self):
        """Everything up to the switch happens in a directory that nobody uses yet."""
        path = self.place()
        self.timed("check", self.check)
        if not os.path.exists(os.path.join(path, STAMP)):
            shutil.rmtree(path, ignore_errors=True)
            try:
                self.fill(path)
            except BaseException:
                shutil.rmtree(path, ignore_errors=True)
                raise
        self.put_stamp(path)
        self.switch(path)
        self.prune()

    def place(self):
        """Where the build is or goes. Beside a damaged one: jobs that run in it may still live."""
        lock = self.p["lock"]
        first = os.path.join(self.folder, "{}-{}".format(lock["version"], lock["hash"][:8]))
        places = itertools.chain([first], ("%s-%d" % (first, number) for number in itertools.count(2)))
        return next(path for path in places if not os.path.exists(os.path.join(path, STAMP)) or self.is_whole(path))

    def check(self):
        """Each wheel is checked against the lock before it counts."""
        wheels = self.p["wheels"]
        for wheel in self.p["lock"]["wheels"]:
            path = os.path.join(wheels, wheel["filename"])
            if not os.path.exists(path):
                raise BuildError("{} did not arrive".format(path))
            if sha256(path) != wheel["sha256"]:
                os.unlink(path)
                raise BuildError("{} was damaged on its way and is removed: run again".format(path))

    def fill(self, path):
        os.makedirs(self.folder, 0o755, exist_ok=True)
        scratch = tempfile.mkdtemp(prefix=".build.", dir=self.folder)
        try:
            command = [self.p["python"], "-m", "venv", "--without-pip", path]
            self.timed("venv", lambda: run(command, "the environment cannot be made"))
            self.timed("install", lambda: self.install(path, scratch))
        finally:
            shutil.rmtree(scratch, ignore_errors=True)
        self.timed("import", lambda: self.prove(path))
        everything = self.p["compile"] == "all" or (self.p["compile"] == "auto" and os.cpu_count() >= MANY_CPUS)
        if everything:
            self.timed("compile", lambda: self.compile(path))

    def install(self, path, scratch):
        """Exactly the files of the lock: no index, no resolution, hashes checked."""
        python = os.path.join(path, "bin", "python")
        wheels = [w for w in self.p["lock"]["wheels"] if w["name"] != "uv"]
        requirements = os.path.join(scratch, "requirements.txt")
        with open(requirements, "w") as handle:
            for wheel in wheels:
                handle.write("{name}=={version} --hash=sha256:{sha256}\n".format(**wheel))
        options = ["--no-index", "--no-deps", "--require-hashes", "--find-links", self.p["wheels"], "-r", requirements]
        if self.p["installer"] == "uv":
            command = [self.uv(scratch), "pip", "install", "--offline", "--quiet", "--link-mode", "hardlink"]
            command += ["--python", python]
        else:
            command = [self.p["python"], os.path.join(self.wheel_of("pip"), "pip"), "--isolated", "--python", python]
            command += ["install", "--quiet", "--no-compile", "--root-user-action", "ignore"]
            command += ["--disable-pip-version-check"]
        # The cache lies on the same file system, so that files are linked and not copied, and goes afterwards.
        run(
            command + options,
            f"{self.p['installer']} cannot install the wheels",
            UV_CACHE_DIR=os.path.join(scratch, "cache"),
            UV_NO_CONFIG="1",
            PIP_NO_CACHE_DIR="1",
        )
        # uv leaves its lock behind, open for everybody to write. Nobody installs here again.
        with suppress(FileNotFoundError):
            os.unlink(os.path.join(path, ".lock"))

    def wheel_of(self, project):
        for wheel in self.p["lock"]["wheels"]:
            if wheel["name"] == project:
                return os.path.join(self.p["wheels"], wheel["filename"])
        raise BuildError(f"the set of wheels lacks {project}")

    def uv(self, scratch):
        """uv is one program inside its wheel."""
        with zipfile.ZipFile(self.wheel_of("uv")) as archive:
            name = next(n for n in archive.namelist() if n.endswith(".data/scripts/uv"))
            program = archive.extract(name, scratch)
        os.chmod(program, 0o755)
        return program

    def prove(self, path):
        """What has to work is imported once, which also compiles the modules that jobs will load first."""
        lock = self.p["lock"]
        lines = ["import " + name for name in [*lock["imports"], *self.p["imports"]]]
        lines += ["from contextlib import suppress", "from importlib import import_module"]
        lines += [f"with suppress(ImportError): import_module({name!r})" for name in lock.get("warm", [])]
        command = [os.path.join(path, "bin", "python"), "-c", "\n".join(lines)]
        run(command, "the new environment does not import")

    def compile(self, path):
        command = [os.path.join(path, "bin", "python"), "-m", "compileall", "-q", "-j", "0", os.path.join(path, "lib")]
        # Packages carry files for other versions of Python, on purpose: those do not compile.
        subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)

    def put_stamp(self, path):
        """The last file of a build: without it a directory is a leftover."""
        lock = self.p["lock"]
        stamp = {
            "wanted": self.wanted(),
            "lock": lock["hash"],
            "version": lock["version"],
            "module_version": lock["version"].split("+")[0],
            "packages": {wheel["name"]: wheel["version"] for wheel in lock["wheels"] if wheel["name"] != "uv"},
        }
        write(os.path.join(path, STAMP), json.dumps(stamp, indent=2, sort_keys=True) + "\n")

    def switch(self, path):
        stamp = read_json(os.path.join(path, STAMP))
        os.makedirs(self.modules, 0o755, exist_ok=True)
        file_name = stamp["module_version"] + ".lua"
        text = MODULEFILE.format(
            name=self.name,
            version=stamp["version"],
            accelerator=self.p["wanted"].get("accelerator", "cpu"),
            path=path,
        )
        write(os.path.join(self.modules, file_name), text)
        point(os.path.join(self.modules, "default"), file_name)
        point(self.current, os.path.basename(path))

    def prune(self):
        """Builds beyond the newest go, with modulefiles that name them; the current one always stays."""
        builds = [os.path.join(self.folder, n) for n in os.listdir(self.folder) if n != "current"]
        builds = sorted(filter(os.path.isdir, builds), key=os.path.getmtime, reverse=True)
        builds.sort(key=lambda path: path != os.path.realpath(self.current))
        for old in builds[self.p["keep"] :]:
            shutil.rmtree(old, ignore_errors=True)
        for name in os.listdir(self.modules):
            self.drop_dangling(os.path.join(self.modules, name))

    def drop_dangling(self, modulefile):
        with open(modulefile) as handle:
            roots = [line.split('"')[1] for line in handle if line.startswith("local root")]
        if roots and not os.path.isdir(roots[0]):
            os.unlink(modulefile)

    def result(self):
        stamp = self.stamp()
        found = {"current": self.is_current(), "target": self.target, "present": self.present()}
        if stamp:
            found.update(path=os.path.realpath(self.current), version=stamp["version"], seconds=self.seconds)
            found["hpcprov_versions"] = {self.p["name"]: stamp["version"]}
        return found


def main():
    """Entry point of the module."""
    module = AnsibleModule(
        argument_spec={
            "name": {"type": "str", "required": True},
            "root": {"type": "path", "required": True},
            "modulefiles": {"type": "path", "required": True},
            "wheels": {"type": "path", "required": True},
            "python": {"type": "path", "default": "/usr/bin/python3"},
            "wanted": {"type": "dict", "required": True},
            "lock": {"type": "dict"},
            "imports": {"type": "list", "elements": "str", "default": []},
            "installer": {"type": "str", "default": "uv", "choices": ["uv", "pip"]},
            "compile": {"type": "str", "default": "auto", "choices": ["auto", "all", "imported"]},
            "keep": {"type": "int", "default": 2},
        },
        supports_check_mode=True,
    )
    os.umask(0o022)
    try:
        environment = Environment(module.params)
        before = environment.is_current()
        if module.params["lock"] and not module.check_mode and not before:
            environment.build()
        elif not module.params["lock"] and not module.check_mode:
            os.makedirs(module.params["wheels"], 0o755, exist_ok=True)
    except BuildError as error:
        module.fail_json(msg="; ".join([str(error), *error.output[-3:]]), output=error.output)
    # A look reports a change only where it stands for the build that check mode leaves out.
    changed = not before and bool(module.params["lock"] or module.check_mode)
    module.exit_json(changed=changed, **environment.result())


if __name__ == "__main__":
    main()
