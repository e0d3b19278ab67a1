#!/usr/bin/python
"""Services of a role in one round trip: enabled, started, restarted when needed, and proven to answer."""

from __future__ import annotations

DOCUMENTATION = r"""
module: hpc_services
short_description: Enable, start, restart when a watched file is newer, and prove services
description:
  - A handler is lost when a run is interrupted between the change and the restart. This module asks the files
    instead. A service is restarted when a file in C(watch) changed after the service started, so the next run
    always finishes what an interrupted one left, and a run that changes nothing restarts nothing.
  - After a start, the service has to be active and C(prove) has to succeed; if not, the module fails with the
    last lines of the journal.
  - A configuration that a service does not come up with is not left in place. The files in C(keep) are saved each
    time the service has proven itself, and put back when it does not come up with newer ones. The module still fails.
options:
  services:
    description: Services, handled in this order.
    type: list
    elements: dict
    required: true
    suboptions:
      name: {type: str, required: true, description: Unit name.}
      enabled: {type: bool, default: true, description: Start it at boot.}
      state: {type: str, choices: [started, stopped], default: started, description: Wanted state now.}
      watch: {type: list, elements: str, default: [], description: Files or globs; a newer one restarts the unit.}
      reload_watch: {type: list, elements: str, default: [], description: The same for a reload.}
      reload_command: {type: list, elements: str, default: [], description: Used in place of systemctl reload.}
      keep: {type: list, elements: str, default: [], description: Files that are put back when it does not come up.}
      log: {type: str, description: The daemon's own log; its last lines stand beside the journal's.}
      after_restart: {type: list, elements: str, default: [], description: Command to run after a start or restart.}
      prove:
        type: dict
        description: A command that has to succeed within C(timeout) seconds once the service runs.
        suboptions:
          command: {type: list, elements: str, required: true, description: The command.}
          timeout: {type: int, default: 60, description: Seconds.}
          always: {type: bool, default: true, description: Also prove a service that was not touched.}
  running: {type: bool, default: true, description: False while an image is made, where no init runs.}
author: [hpcprov]
"""

EXAMPLES = r"""
- name: service | Munge runs
  hpc_services:
    services:
      - name: munge
        watch: [/etc/munge/munge.key, /usr/sbin/munged]
        prove: {command: [munge, -n]}
"""

RETURN = r"""
started: {description: Units that were started., type: list, returned: always}
restarted: {description: Units that were restarted., type: list, returned: always}
reloaded: {description: Units that were reloaded., type: list, returned: always}
enabled: {description: Units that were enabled or disabled., type: list, returned: always}
journal: {description: The last lines of the journal of a failed unit., type: list, returned: failure}
reasons: {description: Unit and the file that made it restart or reload., type: dict, returned: always}
put_back: {description: Files that were replaced by what worked before., type: list, returned: failure}
"""

import filecmp
import glob
import os
import re
import shutil
import time

from ansible.module_utils.basic import AnsibleModule

PROPERTIES = ("ActiveState", "SubState", "Result", "UnitFileState", "LoadState", "NeedDaemonReload", "NRestarts")
# A unit that systemd starts again and again is dead, it only does not stay so.
DEATHS = 3
# Where the files of `keep` are saved, one directory per unit; they may hold secrets.
PROVEN = "/var/lib/hpcprov/proven"
# Compared with the change time of files, in microseconds since boot and turned into wall clock below.
STAMPS = ("ActiveEnterTimestampMonotonic", "StateChangeTimestampMonotonic", "ActiveExitTimestampMonotonic")


def parse_properties(text):
    """`systemctl show` output as a dict."""
    return dict(line.split("=", 1) for line in text.splitlines() if "=" in line)


def wall_clock(monotonic_usec):
    """Seconds since the epoch of a systemd monotonic stamp; 0 for "never"."""
    usec = int(monotonic_usec or 0)
    if usec == 0:
        return 0.0
    return time.time() - time.clock_gettime(time.CLOCK_MONOTONIC) + usec / 1e6


def newest(patterns):
    """The path among `patterns` that changed last, and when (0 when none exists)."""
    newest_path, newest_time = None, 0.0
    for pattern in patterns:
        for path in glob.glob(pattern):
            changed = os.stat(path).st_ctime
            if changed > newest_time:
                newest_path, newest_time = path, changed
    return newest_path, newest_time


def cause_in(lines):
    """What the daemon itself gave as the reason of its end, empty when it said nothing of the kind."""
    for line in reversed(lines):
        found = re.search(r"\b(fatal: .+|FATAL[: ].+|\[ERROR\] .+)", line)
        if found:
            return found.group(1).strip()
    return ""


def last_lines(path, count=8):
    """The end of a log file; nothing where there is none."""
    try:
        with open(path or "", "rb") as file:
            file.seek(max(0, os.fstat(file.fileno()).st_size - 8192))
            return file.read().decode(errors="replace").splitlines()[-count:]
    except OSError:
        return []


class ServiceError(Exception):
    """A unit did not do what was asked. `journal` is taken before anything else is tried."""

    def __init__(self, unit, why, journal):
        super().__init__(why)
        self.unit, self.why, self.journal = unit, why, journal


class Proven:
    """Copies of a unit's files as they were when it last proved itself."""

    def __init__(self, unit, files):
        self.pairs = {path: os.path.join(PROVEN, unit, path.strip("/").replace("/", "-")) for path in files}

    def save(self):
        """Take over what the unit works with now."""
        for path, copy in self.pairs.items():
            if os.path.isfile(path) and not (os.path.isfile(copy) and filecmp.cmp(path, copy, shallow=False)):
                os.makedirs(os.path.dirname(copy), mode=0o700, exist_ok=True)
                copy_whole(path, copy)

    def put_back(self):
        """Put back the copies that differ; gives their paths. A file that was never proven stays."""
        replaced = []
        for path, copy in self.pairs.items():
            if os.path.isfile(copy) and not (os.path.isfile(path) and filecmp.cmp(path, copy, shallow=False)):
                copy_whole(copy, path)
                replaced.append(path)
        return replaced


def copy_whole(source, target):
    """Copy with owner and mode, in one step, never readable by more than the source is."""
    draft = "%s.hpcprov-%d" % (target, os.getpid())
    info = os.stat(source)
    with (
        open(source, "rb") as reader,
        os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as to,
    ):
        shutil.copyfileobj(reader, to)
        os.fchown(to.fileno(), info.st_uid, info.st_gid)
        os.fchmod(to.fileno(), info.st_mode & 0o7777)
    os.rename(draft, target)


class Services:
    """Acts on units and keeps what it did."""

    def __init__(self, module):
        self.module = module
        self.check = module.check_mode
        self.done = {"started": [], "restarted": [], "reloaded": [], "enabled": [], "stopped": []}
        self.reasons = {}
        self.logs = {}

    def systemctl(self, *arguments):
        """Run systemctl; gives (rc, output)."""
        rc, out, err = self.module.run_command(["systemctl", *list(arguments)])
        return rc, (out + err).strip()

    def show(self, unit):
        """Properties of a unit."""
        _, out = self.systemctl("show", unit, "--property", ",".join(PROPERTIES + STAMPS))
        return parse_properties(out)

    def apply(self, spec):
        """Bring one service to its wanted state."""
        self.logs[spec["name"]] = spec["log"]
        properties = self.show(spec["name"]) if self.module.params["running"] else {}
        if properties.get("NeedDaemonReload") == "yes" and not self.check:
            self.systemctl("daemon-reload")
        if self.module.params["running"] and properties.get("LoadState") == "not-found":
            if self.check:
                self.done["started"].append(spec["name"])
                return
            self.module.fail_json(msg="there is no unit %s: its package is not installed" % spec["name"])
        self.enable(spec, properties)
        if not self.module.params["running"]:
            return
        proven = Proven(spec["name"], spec["keep"])
        try:
            self.run_state(spec, properties)
        except ServiceError as error:
            self.recover(spec, proven, error)
        if not self.check:
            proven.save()

    def recover(self, spec, proven, error):
        """Go back to the files that worked, then fail with what the new ones did."""
        replaced = proven.put_back()
        told = "; ".join(filter(None, [error.why, cause_in(error.journal)]))
        if replaced:
            names = ", ".join(replaced)
            try:
                self.systemctl("reset-failed", error.unit)
                self.act(error.unit, "restart", "restarted")
                self.prove(spec)
                told += ". The last %s that worked is back in place, and %s runs with it" % (names, error.unit)
            except ServiceError as again:
                told += ". The last %s that worked is back in place, but %s %s" % (names, error.unit, again.why)
        self.module.fail_json(
            msg="%s: %s" % (error.unit, told),
            service=error.unit,
            journal=error.journal,
            reasons=self.reasons,
            put_back=replaced,
            **self.done,
        )

    def enable(self, spec, properties):
        """Enable or disable at boot. Works without a running init too."""
        unit = spec["name"]
        state = properties.get("UnitFileState") or self.systemctl("is-enabled", unit)[1].split("\n")[-1]
        if state in ("static", "indirect", "generated", "alias"):
            return
        is_enabled = state in ("enabled", "enabled-runtime")
        if is_enabled == spec["enabled"]:
            return
        self.done["enabled"].append(unit)
        if not self.check:
            rc, out = self.systemctl("enable" if spec["enabled"] else "disable", unit)
            if rc != 0:
                self.module.fail_json(msg="systemctl enable %s: %s" % (unit, out))

    def run_state(self, spec, properties):
        """Start, stop, restart or reload as the files ask for, then prove it."""
        unit = spec["name"]
        active = properties.get("ActiveState") in ("active", "reloading", "activating")
        if spec["state"] == "stopped":
            if active:
                self.act(unit, "stop", "stopped")
            return
        action = self.needed_action(spec, properties, active)
        if action == "start":
            # A unit that failed too often in the past would refuse to start now.
            if not self.check:
                self.systemctl("reset-failed", unit)
            self.act(unit, "start", "started")
        elif action == "restart":
            if not self.check:
                self.systemctl("reset-failed", unit)
            self.act(unit, "restart", "restarted")
        elif action == "reload":
            self.reload(spec)
        if self.check:
            return
        if action in ("start", "restart") and spec["after_restart"]:
            self.prove(spec)
            self.command(unit, spec["after_restart"])
        elif action or (spec["prove"] and spec["prove"]["always"]):
            self.prove(spec)

    def needed_action(self, spec, properties, active):
        """start, restart, reload or None."""
        if not active:
            return "start"
        path, changed = newest(spec["watch"])
        if changed > wall_clock(properties.get("ActiveEnterTimestampMonotonic")):
            self.reasons[spec["name"]] = path
            return "restart"
        path, changed = newest(spec["reload_watch"])
        stamp_file = self.reload_stamp(spec["name"])
        stamped = os.stat(stamp_file).st_mtime if os.path.exists(stamp_file) else 0.0
        if changed > max(wall_clock(properties.get("ActiveEnterTimestampMonotonic")), stamped):
            self.reasons[spec["name"]] = path
            return "reload"
        return None

    @staticmethod
    def reload_stamp(unit):
        """systemd keeps no time of a reload that it did not do itself; this file does, until the next boot."""
        return "/run/hpcprov-%s.reloaded" % unit

    def act(self, unit, verb, key):
        """One systemctl verb, with the journal when it fails."""
        self.done[key].append(unit)
        if self.check:
            return
        rc, out = self.systemctl(verb, unit)
        if rc != 0:
            self.fail(unit, out.split("\n")[0] or "systemctl %s failed" % verb)

    def reload(self, spec):
        """Let a running service read its configuration again."""
        self.done["reloaded"].append(spec["name"])
        if self.check:
            return
        started = time.time()
        if spec["reload_command"]:
            self.command(spec["name"], spec["reload_command"])
        else:
            self.act_quietly(spec["name"])
        stamp = self.reload_stamp(spec["name"])
        with open(stamp, "w"):
            os.utime(stamp, (started, started))

    def act_quietly(self, unit):
        """systemctl reload, with the journal when it fails."""
        rc, out = self.systemctl("reload", unit)
        if rc != 0:
            self.fail(unit, out.split("\n")[0])

    def command(self, unit, command):
        """A command that belongs to a unit; its failure is the unit's."""
        rc, out, err = self.module.run_command(command)
        if rc != 0:
            self.fail(unit, "%s: %s" % (" ".join(command), (err or out).strip()))

    def prove(self, spec):
        """Poll until the unit is active and its command succeeds."""
        unit, prove = spec["name"], spec["prove"] or {"command": None, "timeout": 30}
        deadline = time.time() + prove["timeout"]
        pause, why = 0.05, "did not become active"
        restarts = None
        while True:
            properties = self.show(unit)
            state = properties.get("ActiveState")
            if state == "failed" or (state == "inactive" and properties.get("Result") != "success"):
                self.fail(unit, "died after its start (%s)" % properties.get("Result"))
            count = int(properties.get("NRestarts") or 0)
            restarts = count if restarts is None else restarts
            if count - restarts >= DEATHS:
                self.fail(unit, "dies again and again after its start (%s)" % properties.get("Result"))
            if state == "active":
                if not prove["command"]:
                    return
                rc, out, err = self.module.run_command(prove["command"])
                if rc == 0:
                    return
                why = "%s: %s" % (" ".join(prove["command"]), (err or out).strip().split("\n")[-1])
            if time.time() > deadline:
                self.fail(unit, "does not answer after %d s: %s" % (prove["timeout"], why))
            time.sleep(pause)
            pause = min(pause * 2, 1.0)

    def fail(self, unit, why):
        """Give up on the unit, with the reason and the last lines of its journal."""
        _, out, _ = self.module.run_command(
            ["journalctl", "--unit", unit, "--lines", "25", "--no-pager", "--output", "short-iso"]
        )
        raise ServiceError(unit, why, out.splitlines() + last_lines(self.logs.get(unit)))


def main():
    """Entry point of the module."""
    prove_options = {
        "command": {"type": "list", "elements": "str", "required": True},
        "timeout": {"type": "int", "default": 60},
        "always": {"type": "bool", "default": True},
    }
    options = {
        "name": {"type": "str", "required": True},
        "enabled": {"type": "bool", "default": True},
        "state": {"type": "str", "choices": ["started", "stopped"], "default": "started"},
        "watch": {"type": "list", "elements": "str", "default": []},
        "reload_watch": {"type": "list", "elements": "str", "default": []},
        "reload_command": {"type": "list", "elements": "str", "default": []},
        "keep": {"type": "list", "elements": "str", "default": []},
        "log": {"type": "str"},
        "after_restart": {"type": "list", "elements": "str", "default": []},
        "prove": {"type": "dict", "options": prove_options},
    }
    module = AnsibleModule(
        argument_spec={
            "services": {"type": "list", "elements": "dict", "required": True, "options": options},
            "running": {"type": "bool", "default": True},
        },
        supports_check_mode=True,
    )
    services = Services(module)
    for spec in module.params["services"]:
        services.apply(spec)
    module.exit_json(changed=any(services.done.values()), reasons=services.reasons, **services.done)


if __name__ == "__main__":
    main()
