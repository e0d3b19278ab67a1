"""May the login user become root?"""

from __future__ import annotations

from collections.abc import Iterator

from hpcprov.preflight.ask import become_password
from hpcprov.preflight.findings import Finding, Level
from hpcprov.preflight.look import Look
from hpcprov.preflight.rules.registry import rule
from hpcprov.remote.options import route


@rule("sudo")
def sudo(look: Look) -> Iterator[Finding]:
    """The roles work as root: the login user is root, or may use sudo, with the password if one is needed."""
    for host, facts in look.hosts:
        method = str(host.vars.get("ansible_become_method") or "sudo")
        if facts.sudo in ("root", "yes") or method.rpartition(".")[2] != "sudo":
            continue
        if become_password(host) is None:
            message = "sudo was not tried, so what only root sees was not looked at"
            yield Finding(host.name, "sudo", Level.WARNING, message, "only Ansible can read the password for it")
            continue
        user = route(host).user
        ours = f"hpcprov bootstrap HOST --site {look.site.path}"
        message, fix = _words(facts.sudo.lower(), user, ours, given=bool(become_password(host)))
        yield Finding(host.name, "sudo", Level.ERROR, message, cause=f"sudo says: {facts.sudo}", fix=fix)


def _words(said: str, user: str, ours: str, *, given: bool) -> tuple[str, str]:
    allow = f"echo '{user} ALL=(ALL) NOPASSWD: ALL' > /etc/sudoers.d/{user}"
    rights = f"{ours}, or as root there: {allow}"
    if "not found" in said:
        return (
            "has no sudo",
            f"{ours}, or as root there: install the package sudo and {allow}; or set ansible_user to root",
        )
    if "tty" in said:
        return (
            "sudo works only in a terminal (requiretty)",
            "as root there: take requiretty out of /etc/sudoers",
        )
    if "not in the sudoers" in said or "not allowed" in said or "may not run" in said:
        return f"its login user {user} may not use sudo", rights
    if given:
        return f"sudo does not take the password given for {user}", "correct ansible_become_password"
    if "password" in said:
        return (
            f"its login user {user} cannot use sudo without a password",
            f"set ansible_become_password (ansible-vault keeps it secret), or {rights}",
        )
    return f"its login user {user} cannot use sudo", rights
