"""Run the probe on all hosts side by side: one connection and one round trip for each."""

from __future__ import annotations

import shlex
import time
from collections.abc import Callable, Iterable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from importlib.resources import files

import paramiko

from hpcprov.preflight import needs
from hpcprov.preflight.facts import MARK, Facts, parse
from hpcprov.remote.connection import Connection, ConnectionFailedError, Trouble
from hpcprov.site import Host, Site
from hpcprov.site.scalars import Vaulted
from hpcprov.site.templating import holds_template
from hpcprov.slurm.hostlist import fold

PARALLEL = 32  # connections at once
LIMIT = 90.0  # seconds without a word from a probe
REPORT_SECONDS = 10.0
BECOME_PASSWORDS = ("ansible_become_password", "ansible_become_pass", "ansible_sudo_pass")

# Any login shell can run this line. Standard input brings a line for sudo's password, empty where none is given, then
# the script. It runs as root where it can, and else as the login user, who still sees most things.
BECOME = (
    "sh -c '"
    'IFS= read -r password; script=$(cat); say() { echo "@@ sudo"; echo "$1"; }; '
    'if [ "$(id -u)" = 0 ]; then sh -c "$script"; '
    'elif said=$(sudo -n true 2>&1); then say yes; sudo -n sh -c "$script"; '
    'elif [ -n "$password" ] && said=$(printf "%s\\n" "$password" | sudo -S -p "" true 2>&1); then '
    'say yes; printf "%s\\n" "$password" | sudo -S -p "" sh -c "$script"; '
    'else say "$said"; sh -c "$script"; fi'
    "'"
)


@dataclass
class Answers:
    """What came back: facts of the hosts that could be asked, the reason for the others."""

    facts: dict[str, Facts] = field(default_factory=dict)
    failures: dict[str, ConnectionFailedError] = field(default_factory=dict)


def ask(site: Site, hosts: Iterable[Host], report: Callable[[str], None] = lambda _: None) -> Answers:
    """Ask hosts everything. `report` gets a line now and then while some have not answered."""
    wanted = list(hosts)
    script = files("hpcprov.preflight").joinpath("probe.sh").read_text(encoding="utf-8")
    answers = Answers()

    def one(host: Host) -> None:
        try:
            answers.facts[host.name] = _ask(host, parameters(site, host) + script)
        except ConnectionFailedError as error:
            answers.failures[host.name] = error

    side_by_side(wanted, one, report)
    return answers


def side_by_side(hosts: list[Host], work: Callable[[Host], None], report: Callable[[str], None]) -> None:
    """Call `work` for each host, PARALLEL at once, and say from time to time who is not done."""
    pool = ThreadPoolExecutor(max_workers=min(PARALLEL, max(1, len(hosts))))
    try:
        running: dict[Future[None], str] = {pool.submit(work, host): host.name for host in hosts}
        pending = set(running)
        while pending:
            done, pending = wait(pending, timeout=REPORT_SECONDS)
            for future in done:
                future.result()
            if pending:
                missing = fold(running[future] for future in pending)
                report(f"{len(hosts) - len(pending)} of {len(hosts)} hosts have answered; waiting for {missing}")
    finally:
        pool.shutdown(wait=False, cancel_futures=True)


def parameters(site: Site, host: Host) -> str:
    """What the site says, as assignments for the shell."""
    accounts = needs.accounts(host)
    interpreter = str(host.vars.get("ansible_python_interpreter") or "")
    values = {
        "node_name": [host.node_name],
        "site_hosts": [f"{name}={address}" for name, address in needs.site_names(site).items()],
        "addresses": ["ahostsv6" if ":" in site.cluster_network else "ahostsv4"],
        "user_keys": [str(key) for account in accounts for key in (account.name, account.uid)],
        "group_keys": [str(key) for a in accounts if a.gid is not None for key in (a.name, a.gid)],
        "ports": [str(port.number) for port in needs.ports(site, host)],
        "directories": list(needs.DIRECTORIES),
        "python": [interpreter] if interpreter.startswith("/") and not holds_template(interpreter) else [],
    }
    return "".join(f"{name}={shlex.quote(' '.join(words))}\n" for name, words in values.items())


def become_password(host: Host) -> str | None:
    """The password for sudo that the site gives, empty where it gives none; None where only Ansible can read it."""
    given = next((host.vars[name] for name in BECOME_PASSWORDS if host.vars.get(name)), "")
    return None if isinstance(given, Vaulted) or holds_template(given) else str(given)


def run_script(host: Host, script: str, *, limit: float = LIMIT) -> tuple[str, float, float]:
    """The output of a shell script, run as root where possible, and our clock before and after it.

    Raises ConnectionFailedError.
    """
    try:
        with Connection(host) as connection:
            sent = time.time()
            status, said, errors = connection.run(
                BECOME, timeout=limit, stdin=f"{become_password(host) or ''}\n{script}"
            )
            received = time.time()
    except ConnectionFailedError:
        raise
    except TimeoutError:
        raise ConnectionFailedError(
            f"accepts the login, then says nothing for {limit:.0f} s", Trouble.SSH, host=host.name,
            hint="look for a hung mount or a dying disk: dmesg, and processes in state D",
        ) from None  # fmt: skip
    except (paramiko.SSHException, OSError, EOFError) as error:
        raise ConnectionFailedError(
            f"SSH broke while the host was asked: {error or 'connection closed'}", Trouble.UNREACHABLE, host=host.name,
            hint="is it shutting down, or is its network bad?",
        ) from error  # fmt: skip
    if status != 0 and MARK not in said:
        why = (said.strip() or errors.strip() or "no output").splitlines()[-1]
        raise ConnectionFailedError(
            f"cannot run a shell command: {why[:200]}", Trouble.SSH, host=host.name,
            hint="give the login user a shell; a forced command cannot be converged",
        )  # fmt: skip
    return said, sent, received


def _ask(host: Host, script: str) -> Facts:
    said, sent, received = run_script(host, script)
    facts = parse(said, sent=sent, received=received)
    if facts.complete:
        return facts
    last = (said.strip().splitlines() or ["no output"])[-1]
    raise ConnectionFailedError(
        f"the probe did not come to its end; its last line: {last[:200]}", Trouble.SSH, host=host.name,
        hint="run `sh` there by hand: does it find the usual programs?",
    )  # fmt: skip
