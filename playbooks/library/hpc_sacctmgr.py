#!/usr/bin/python
# SPDX-License-Identifier: Apache-2.0
"""Bring the cluster, accounts, users and QOS of the accounting database to what the site says."""

from __future__ import annotations

DOCUMENTATION = r"""
module: hpc_sacctmgr
short_description: Reconcile cluster registration, accounts, users and QOS of Slurm accounting
description:
  - Reads everything first (C(sacctmgr -nP)), works out what differs, and runs only the commands that are needed.
  - Additive. What the site does not name is left as it is; C(state=absent) removes.
  - A limit that is named is exactly what the site says; limits that are not named are not touched.
  - Needs no slurm.conf on the host, so that a cluster is registered before its controller starts for the first time.
options:
  cluster: {type: str, required: true, description: Name of the cluster; registered when it is missing.}
  accounts:
    description: >-
      Accounts: C(name), C(description), C(organization), C(parent), C(users), C(state), and any limit of an
      association (C(Fairshare), C(GrpTRES), C(MaxJobs), C(QOS), C(DefaultQOS) ...). A user is a name, or a dict of
      C(name), C(default) (make this the default account), C(admin_level), C(state) and any limit.
    type: list
    elements: dict
    default: []
  qos:
    description: "QOS: C(name), C(state) and any key of a QOS (C(Priority), C(Flags), C(MaxTRESPU) ...)."
    type: list
    elements: dict
    default: []
  host: {type: str, default: localhost, description: Host of slurmdbd.}
  port: {type: int, default: 6819, description: Port of slurmdbd.}
  slurm_user: {type: str, default: slurm, description: SlurmUser.}
  config: {type: dict, default: {}, description: Further lines of slurm.conf that sacctmgr needs (AuthType ...).}
  timeout: {type: int, default: 60, description: Seconds to wait for slurmdbd to answer.}
author: [hpcprov]
"""

EXAMPLES = r"""
- name: accounts | Accounts and QOS are as the site says
  hpc_sacctmgr:
    cluster: lab
    qos: [{name: high, Priority: 100, Flags: [DenyOnLimit]}]
    accounts:
      - {name: physics, Fairshare: 10, QOS: [normal, high], users: [alice, {name: bob, MaxJobs: 3}]}
"""

RETURN = r"""
commands: {description: The sacctmgr commands that were (in check mode would be) run., type: list, returned: always}
deferred:
  description: >-
    Limits on resources (gres/gpu) that the database learns from slurmctld only; run again once it has registered.
  type: list
  returned: always
"""

import os
import shutil
import tempfile
import time

from ansible.module_utils.basic import AnsibleModule

# Canonical name, kind, further names that the site may use. The canonical name is what `format=` takes.
ASSOCIATION_KEYS = (
    ("Fairshare", "word", ("Share",)),
    ("GrpTRES", "tres", ()),
    ("GrpTRESMins", "tres", ()),
    ("GrpTRESRunMins", "tres", ()),
    ("GrpJobs", "count", ()),
    ("GrpJobsAccrue", "count", ()),
    ("GrpSubmitJobs", "count", ("GrpSubmit",)),
    ("GrpWall", "minutes", ()),
    ("MaxTRES", "tres", ("MaxTRESPerJob",)),
    ("MaxTRESPerNode", "tres", ()),
    ("MaxTRESMins", "tres", ("MaxTRESMinsPerJob",)),
    ("MaxTRESRunMins", "tres", ()),
    ("MaxJobs", "count", ()),
    ("MaxJobsAccrue", "count", ()),
    ("MaxSubmitJobs", "count", ("MaxSubmit",)),
    ("MaxWall", "minutes", ("MaxWallDurationPerJob",)),
    ("MinPrioThreshold", "count", ("MinPrioThres",)),
    ("Priority", "count", ()),
    ("QOS", "names", ("QosLevel",)),
    ("DefaultQOS", "word", ("DefQOS",)),
)
QOS_KEYS = (
    ("Description", "word", ()),
    ("Priority", "count0", ()),
    ("GraceTime", "seconds", ()),
    ("Preempt", "names", ()),
    ("PreemptExemptTime", "minutes", ()),
    ("PreemptMode", "word", ()),
    ("Flags", "names", ()),
    ("UsageThreshold", "number", ("UsageThres",)),
    ("UsageFactor", "number", ()),
    ("LimitFactor", "number", ()),
    ("GrpTRES", "tres", ()),
    ("GrpTRESMins", "tres", ()),
    ("GrpTRESRunMins", "tres", ()),
    ("GrpJobs", "count", ()),
    ("GrpJobsAccrue", "count", ()),
    ("GrpSubmitJobs", "count", ("GrpSubmit",)),
    ("GrpWall", "minutes", ()),
    ("MaxTRES", "tres", ("MaxTRESPerJob",)),
    ("MaxTRESPerNode", "tres", ()),
    ("MaxTRESMins", "tres", ("MaxTRESMinsPerJob",)),
    ("MaxWall", "minutes", ("MaxWallDurationPerJob",)),
    ("MaxTRESPU", "tres", ("MaxTRESPerUser",)),
    ("MaxJobsPU", "count", ("MaxJobsPerUser",)),
    ("MaxJobsAccruePU", "count", ("MaxJobsAccruePerUser",)),
    ("MaxSubmitPU", "count", ("MaxSubmitJobsPU", "MaxSubmitJobsPerUser", "MaxSubmitPerUser")),
    ("MaxTRESPA", "tres", ("MaxTRESPerAccount",)),
    ("MaxJobsPA", "count", ("MaxJobsPerAccount",)),
    ("MaxJobsAccruePA", "count", ("MaxJobsAccruePerAccount",)),
    ("MaxSubmitPA", "count", ("MaxSubmitJobsPA", "MaxSubmitJobsPerAccount", "MaxSubmitPerAccount")),
    ("MaxTRESRunMinsPU", "tres", ("MaxTRESRunMinsPerUser",)),
    ("MaxTRESRunMinsPA", "tres", ("MaxTRESRunMinsPerAccount",)),
    ("MinTRES", "tres", ("MinTRESPerJob",)),
    ("MinPrioThreshold", "count", ("MinPrioThres",)),
)
ACCOUNT_WORDS = ("name", "description", "organization", "parent", "users", "state")
USER_WORDS = ("name", "default", "admin_level", "state")
QOS_WORDS = ("name", "state")
UNLIMITED = ("", "-1", "none", "unlimited", "infinite")
MEMORY_UNITS = {"K": 1 / 1024, "M": 1, "G": 1024, "T": 1024**2, "P": 1024**3}
COUNT_UNITS = {"K": 1000, "M": 1000**2, "G": 1000**3}
# TRES that are counted in MiB.
MEMORY_TRES = ("mem", "vmem")
# Somebody else (or the command before) has done it already: sacctmgr ends with 1 and one of these.
ALREADY = ("Nothing modified", "Nothing new added", "Nothing deleted", "already exists")


class PlanError(ValueError):
    """What the site asks for cannot be done; the text says why."""


# ---------------------------------------------------------------- values: site and sacctmgr on one form


def key_table(keys):
    """Lower-case name or alias -> (canonical name, kind)."""
    table = {}
    for name, kind, aliases in keys:
        for alias in (name, *aliases):
            table[alias.lower()] = (name, kind)
    return table


def pick_limits(item, words, keys, where):
    """The free keys of an item under their canonical names. Raises PlanError for a key that Slurm does not know."""
    table = key_table(keys)
    limits = {}
    for key, value in item.items():
        if key.lower() in words:
            continue
        if key.lower() not in table:
            known = ", ".join(name for name, _, _ in keys)
            raise PlanError("%s: Slurm knows no %s. Known: %s" % (where, key, known))
        limits[table[key.lower()][0]] = value
    return limits


def seconds_of(text, bare):
    """Slurm time (M, M:S, H:M:S, D-H, D-H:M, D-H:M:S) in seconds; `bare` is what a single number counts (60 or 1)."""
    days, _, rest = text.rpartition("-")
    parts = [int(part) for part in rest.split(":")]
    if days:
        parts += [0] * (3 - len(parts))
        return int(days) * 86400 + parts[0] * 3600 + parts[1] * 60 + parts[2]
    if len(parts) == 1:
        return parts[0] * bare
    if len(parts) == 2:
        return parts[0] * 60 + parts[1]
    return parts[0] * 3600 + parts[1] * 60 + parts[2]


def tres_amount(name, text):
    """Amount of one TRES: MiB for memory, a plain count otherwise; None for unlimited."""
    if text.lower() in UNLIMITED:
        return None
    units = MEMORY_UNITS if name in MEMORY_TRES else COUNT_UNITS
    if text[-1].upper() in units:
        return round(float(text[:-1]) * units[text[-1].upper()])
    return int(text)


def as_text(value):
    """A value of the site file as sacctmgr would take it."""
    if value is None:
        return ""
    if isinstance(value, dict):
        return ",".join("%s=%s" % (key, as_text(amount) or "-1") for key, amount in value.items())
    if isinstance(value, (list, tuple, set)):
        return ",".join(str(element) for element in value)
    return str(value)


def canonical(kind, value):
    """A comparable form of a value, whichever side it comes from; None for "not set"."""
    text = as_text(value).strip()
    if kind == "names":
        names = frozenset(name.strip().lower() for name in text.split(",") if name.strip())
        return None if names <= {"-1"} else names
    if text.lower() in UNLIMITED:
        return 0 if kind in ("count0", "seconds") else None
    if kind == "tres":
        amounts = {}
        for part in text.split(","):
            name, _, amount = part.strip().lower().partition("=")
            if tres_amount(name, amount) is not None:
                amounts[name] = tres_amount(name, amount)
        return amounts or None
    if kind in ("minutes", "seconds"):
        return seconds_of(text, 60 if kind == "minutes" else 1)
    if kind in ("count", "count0"):
        return int(text)
    if kind == "number":
        return float(text)
    return text.lower()


def assignment(name, kind, wanted, current):
    """`Name=value` that turns `current` into `wanted`; TRES that the site no longer names are cleared one by one."""
    if kind == "tres":
        after = canonical(kind, wanted) or {}
        gone = [tres for tres in sorted(canonical(kind, current) or {}) if tres not in after]
        parts = ["%s=%s" % item for item in sorted(after.items())] + [tres + "=-1" for tres in gone]
        return "%s=%s" % (name, ",".join(parts))
    if canonical(kind, wanted) is None:
        return "%s=%s" % (name, "" if kind == "names" else "-1")
    return "%s=%s" % (name, as_text(wanted))


def changes(keys, wanted, current, where):
    """(assignments, lines before, lines after) for the limits that differ."""
    kinds = {name: kind for name, kind, _ in keys}
    assignments, before, after = [], [], []
    for name, value in wanted.items():
        try:
            differs = canonical(kinds[name], value) != canonical(kinds[name], current.get(name))
        except (ValueError, IndexError):
            raise PlanError("%s: %s cannot be %r" % (where, name, value)) from None
        if differs:
            assignments.append(assignment(name, kinds[name], value, current.get(name)))
            before.append("%s: %s=%s" % (where, name, current.get(name) or ""))
            after.append("%s: %s=%s" % (where, name, as_text(value)))
    return assignments, before, after


def unknown_tres(keys, limits, known):
    """Names of the limits that speak of a TRES which the database does not know (yet)."""
    kinds = {name: kind for name, kind, _ in keys}
    found = []
    for name, value in limits.items():
        if kinds[name] == "tres":
            tres = [part.strip().lower().partition("=")[0] for part in as_text(value).split(",") if part.strip()]
            if any(item not in known for item in tres):
                found.append(name)
    return found


# ---------------------------------------------------------------- what the database holds


def rows(text, width):
    """Rows of `sacctmgr -nP`, only those with the wanted number of fields."""
    lines = (line.split("|") for line in text.splitlines())
    return [fields for fields in lines if len(fields) == width]


def formats():
    """Name of each read -> arguments of sacctmgr; {cluster} is put in by the caller."""
    association = ["Account", "User", "Partition", "ParentName"] + [name for name, _, _ in ASSOCIATION_KEYS]
    return {
        "clusters": ["show", "cluster", "format=Cluster"],
        "tres": ["show", "tres", "format=Type,Name"],
        "qos": ["show", "qos", "format=Name," + ",".join(name for name, _, _ in QOS_KEYS)],
        "accounts": ["show", "account", "format=Account,Description,Organization"],
        "users": ["show", "user", "where", "cluster={cluster}", "format=User,DefaultAccount,AdminLevel"],
        # Without parents' limits: what is inherited is not what is set.
        "associations": [
            *("show", "assoc", "where", "cluster={cluster}", "WOPLimits", "WithRawQOSLevel"),
            "format=" + ",".join(association),
        ],
    }


def parse_state(texts):
    """The database as dicts, from the outputs of the reads in `formats`."""
    association_names = [name for name, _, _ in ASSOCIATION_KEYS]
    qos_names = [name for name, _, _ in QOS_KEYS]
    state = {
        "clusters": {fields[0] for fields in rows(texts["clusters"], 1)},
        "tres": {"/".join(part for part in fields if part).lower() for fields in rows(texts["tres"], 2)},
        "qos": {},
        "accounts": {},
        "users": {},
        "associations": {},
    }
    for fields in rows(texts["qos"], 1 + len(qos_names)):
        state["qos"][fields[0].lower()] = dict(zip(qos_names, fields[1:]))  # noqa: B905
    for name, description, organization in rows(texts["accounts"], 3):
        state["accounts"][name.lower()] = {"description": description, "organization": organization}
    for name, default, admin in rows(texts["users"], 3):
        state["users"][name] = {"default": default.lower(), "admin": admin}
    for fields in rows(texts["associations"], 4 + len(association_names)):
        account, user, partition, parent = fields[:4]
        if not partition:
            limits = dict(zip(association_names, fields[4:]))  # noqa: B905
            limits["parent"] = parent.lower()
            state["associations"][(account.lower(), user)] = limits
    return state


EMPTY_STATE = {"clusters": set(), "tres": None, "qos": {}, "accounts": {}, "users": {}, "associations": {}}


# ---------------------------------------------------------------- what has to be done


class Plan:
    """Commands in the order in which they have to run, with lines for the diff."""

    def __init__(self, cluster, state):
        self.cluster = cluster
        self.state = state
        self.commands = []
        self.before = []
        self.after = []
        self.deferred = []

    def add(self, command, before, after):
        """One more command."""
        self.commands.append(command)
        self.before += before
        self.after += after

    def known_limits(self, keys, limits, where):
        """`limits` without those that have to wait for slurmctld to register their TRES."""
        if self.state["tres"] is None:
            return limits
        waiting = unknown_tres(keys, limits, self.state["tres"])
        self.deferred += ["%s: %s" % (where, name) for name in waiting]
        return {name: value for name, value in limits.items() if name not in waiting}

    def register_cluster(self):
        """The cluster itself."""
        if self.cluster not in self.state["clusters"]:
            self.add(["add", "cluster", self.cluster], [], ["cluster %s" % self.cluster])

    def qos(self, item):
        """One QOS, present or absent."""
        name = str(item["name"])
        where = "qos %s" % name
        current = self.state["qos"].get(name.lower())
        if item.get("state") == "absent":
            if current is not None:
                self.add(["delete", "qos", "where", "name=" + name], [where], [])
            return
        limits = self.known_limits(QOS_KEYS, pick_limits(item, QOS_WORDS, QOS_KEYS, where), where)
        assignments, before, after = changes(QOS_KEYS, limits, current or {}, where)
        if current is None:
            self.add(["add", "qos", name, *assignments], [], [where, *after])
        elif assignments:
            self.add(["modify", "qos", "where", "name=" + name, "set", *assignments], before, after)

    def account(self, item):
        """One account and its place in the tree; its users follow separately."""
        name = str(item["name"])
        where = "account %s" % name
        limits = pick_limits(item, ACCOUNT_WORDS, ASSOCIATION_KEYS, where)
        limits = self.known_limits(ASSOCIATION_KEYS, limits, where)
        current = self.state["associations"].get((name.lower(), ""))
        record = self.state["accounts"].get(name.lower(), {})
        assignments, before, after = changes(ASSOCIATION_KEYS, limits, current or {}, where)
        if current is None:
            words = [
                "Description=" + str(item.get("description") or name),
                "Organization=" + str(item.get("organization") or name),
                "Parent=" + str(item.get("parent") or "root"),
            ]
            if record:
                words = words[2:]
            command = ["add", "account", name, "Cluster=" + self.cluster, *words, *assignments]
            self.add(command, [], [where, *after])
            if not record:
                return
        for word in ("description", "organization"):
            if item.get(word) is not None and str(item[word]).lower() != record.get(word, "").lower():
                assignments_to_record = ["%s=%s" % (word.capitalize(), item[word])]
                self.add(
                    ["modify", "account", "where", "name=" + name, "set", *assignments_to_record],
                    ["%s: %s=%s" % (where, word, record.get(word, ""))],
                    ["%s: %s=%s" % (where, word, item[word])],
                )
        if current is None:
            return
        if item.get("parent") and str(item["parent"]).lower() != current["parent"]:
            assignments.append("Parent=%s" % item["parent"])
            before.append("%s: parent=%s" % (where, current["parent"]))
            after.append("%s: parent=%s" % (where, item["parent"]))
        if assignments:
            selection = ["where", "name=" + name, "cluster=" + self.cluster, "set"]
            self.add(["modify", "account", *selection, *assignments], before, after)

    def user(self, account, user):
        """One user in one account."""
        name = user["name"]
        where = "user %s in %s" % (name, account)
        current = self.state["associations"].get((account.lower(), name))
        if user.get("state") == "absent":
            if current is not None:
                selection = ["name=" + name, "account=" + account, "cluster=" + self.cluster]
                self.add(["delete", "user", "where", *selection], [where], [])
            return
        limits = pick_limits(user, USER_WORDS, ASSOCIATION_KEYS, where)
        limits = self.known_limits(ASSOCIATION_KEYS, limits, where)
        assignments, before, after = changes(ASSOCIATION_KEYS, limits, current or {}, where)
        if current is None:
            command = ["add", "user", name, "Account=" + account, "Cluster=" + self.cluster]
            self.add(command + assignments, [], [where, *after])
        elif assignments:
            selection = ["where", "name=" + name, "account=" + account, "cluster=" + self.cluster, "set"]
            self.add(["modify", "user", *selection, *assignments], before, after)

    def user_record(self, name, default, admin):
        """Default account and admin level; None leaves them as they are."""
        current = self.state["users"].get(name, {})
        where = "user %s" % name
        selection = ["modify", "user", "where", "name=" + name]
        if default and default.lower() != current.get("default", ""):
            self.add(
                [*selection, "cluster=" + self.cluster, "set", "DefaultAccount=" + default],
                ["%s: default account=%s" % (where, current.get("default", ""))],
                ["%s: default account=%s" % (where, default)],
            )
        # A new user has no admin level; "Administrator" is also written "admin" by people.
        if admin and not current.get("admin", "None").lower().startswith(admin.lower()):
            self.add(
                [*selection, "set", "AdminLevel=" + admin],
                ["%s: admin level=%s" % (where, current.get("admin", "None"))],
                ["%s: admin level=%s" % (where, admin)],
            )


def parents_first(accounts, existing):
    """Accounts in an order in which each parent is made before its children. Raises PlanError when none exists."""
    waiting = {str(item["name"]).lower(): item for item in accounts}
    ordered, made = [], set(existing) | {"root"}
    while waiting:
        ready = [name for name, item in waiting.items() if str(item.get("parent") or "root").lower() in made]
        ready = ready or [name for name in waiting if name in made]
        if not ready:
            name, item = next(iter(waiting.items()))
            raise PlanError("account %s: its parent %s does not exist" % (name, item["parent"]))
        for name in ready:
            ordered.append(waiting.pop(name))
            made.add(name)
    return ordered


def users_of(item):
    """Users of an account as dicts."""
    users = [user if isinstance(user, dict) else {"name": user} for user in item.get("users") or []]
    return [dict(user, name=str(user["name"])) for user in users]


def make_plan(cluster, accounts, qos, state):
    """What has to be run to bring `state` to what the site says. Pure. Raises PlanError."""
    plan = Plan(cluster, state)
    plan.register_cluster()
    present = [item for item in accounts if item.get("state") != "absent"]
    absent = [item for item in accounts if item.get("state") == "absent"]
    for item in [item for item in qos if item.get("state") != "absent"]:
        plan.qos(item)
    existing = {account for account, user in state["associations"] if not user}
    ordered = parents_first(present, existing)
    for item in ordered:
        plan.account(item)
    plan_users(plan, present)
    for item in absent:
        name = str(item["name"])
        if (name.lower(), "") in state["associations"]:
            selection = ["where", "name=" + name, "cluster=" + cluster]
            plan.add(["delete", "account", *selection], ["account %s" % name], [])
    for item in [item for item in qos if item.get("state") == "absent"]:
        plan.qos(item)
    return plan


def plan_users(plan, accounts):
    """Add users first, then set default accounts, then remove: a default account cannot be taken away."""
    pairs = [(str(item["name"]), user) for item in accounts for user in users_of(item)]
    present = [(account, user) for account, user in pairs if user.get("state") != "absent"]
    # The first account that a user is added to becomes the default, so the wanted default goes first.
    for account, user in sorted(present, key=lambda pair: not pair[1].get("default")):
        plan.user(account, user)
    for name in dict.fromkeys(user["name"] for _, user in present):
        mine = [(account, user) for account, user in present if user["name"] == name]
        # Somebody without a default account (all associations were removed once) gets the first one.
        default = next((account for account, user in mine if user.get("default")), None)
        known = plan.state["users"].get(name)
        if default is None and known is not None and not known["default"]:
            default = mine[0][0]
        if known is None:
            default = None
        admin = next((user["admin_level"] for _, user in mine if user.get("admin_level")), None)
        plan.user_record(name, default, admin)
    for account, user in pairs:
        if user.get("state") == "absent":
            plan.user(account, user)


# ---------------------------------------------------------------- sacctmgr


class Sacctmgr:
    """Runs sacctmgr with a configuration of its own: the site's slurm.conf need not exist yet."""

    def __init__(self, module):
        self.module = module
        self.directory = tempfile.mkdtemp(prefix="hpcprov-")
        self.conf = os.path.join(self.directory, "slurm.conf")
        parameters = module.params
        lines = {
            "ClusterName": parameters["cluster"],
            "SlurmctldHost": "localhost",
            "SlurmUser": parameters["slurm_user"],
            "AccountingStorageType": "accounting_storage/slurmdbd",
            "AccountingStorageHost": parameters["host"],
            "AccountingStoragePort": parameters["port"],
        }
        lines.update(parameters["config"])
        with open(self.conf, "w") as handle:
            handle.writelines("%s=%s\n" % item for item in lines.items())

    def close(self):
        """Remove the configuration."""
        shutil.rmtree(self.directory, ignore_errors=True)

    def __call__(self, *arguments):
        return self.module.run_command(
            ["sacctmgr", *arguments], environ_update={"SLURM_CONF": self.conf, "LC_ALL": "C"}
        )

    def read_all(self):
        """Outputs of all reads; (None, reason) when slurmdbd does not answer."""
        texts = {}
        for name, arguments in formats().items():
            filled = [argument.replace("{cluster}", self.module.params["cluster"]) for argument in arguments]
            rc, out, err = self("-nP", *filled)
            if rc != 0:
                return None, (err or out).strip().splitlines()[-1:] or ["sacctmgr failed"]
            texts[name] = out
        return texts, []

    def wait_and_read(self, timeout):
        """`read_all`, repeated until slurmdbd answers."""
        deadline, pause = time.time() + timeout, 0.1
        while True:
            texts, why = self.read_all()
            if texts is not None or time.time() > deadline:
                return texts, why
            time.sleep(pause)
            pause = min(pause * 2, 2.0)


def read_state(module, sacctmgr):
    """The database; empty in check mode when there is nothing to ask yet."""
    if not module.get_bin_path("sacctmgr"):
        if module.check_mode:
            return EMPTY_STATE
        module.fail_json(msg="there is no sacctmgr on this host: Slurm's client package is not installed")
    texts, why = sacctmgr.wait_and_read(0 if module.check_mode else module.params["timeout"])
    if texts is not None:
        return parse_state(texts)
    if module.check_mode:
        return EMPTY_STATE
    return module.fail_json(
        msg="slurmdbd does not answer on %s:%s after %s s: %s"
        % (module.params["host"], module.params["port"], module.params["timeout"], " ".join(why))
    )


def run_plan(module, sacctmgr, plan):
    """Run the commands; the first failure ends with what sacctmgr said."""
    for done, command in enumerate(plan.commands):
        rc, out, err = sacctmgr("-i", *command)
        if rc != 0:
            said = " ".join(line.strip() for line in (err + out).splitlines() if line.strip())
            if any(words in said for words in ALREADY):
                continue
            module.fail_json(msg="sacctmgr %s: %s" % (" ".join(command), said), commands=plan.commands[: done + 1])


def main():
    """Entry point of the module."""
    module = AnsibleModule(
        argument_spec={
            "cluster": {"type": "str", "required": True},
            "accounts": {"type": "list", "elements": "dict", "default": []},
            "qos": {"type": "list", "elements": "dict", "default": []},
            "host": {"type": "str", "default": "localhost"},
            "port": {"type": "int", "default": 6819},
            "slurm_user": {"type": "str", "default": "slurm"},
            "config": {"type": "dict", "default": {}},
            "timeout": {"type": "int", "default": 60},
        },
        supports_check_mode=True,
    )
    parameters = module.params
    sacctmgr = Sacctmgr(module)
    try:
        state = read_state(module, sacctmgr)
        plan = make_plan(parameters["cluster"], parameters["accounts"], parameters["qos"], state)
        if not module.check_mode:
            run_plan(module, sacctmgr, plan)
    except PlanError as error:
        module.fail_json(msg=str(error))
    finally:
        sacctmgr.close()
    diff = {"before": "\n".join(plan.before) + "\n", "after": "\n".join(plan.after) + "\n"}
    module.exit_json(
        changed=bool(plan.commands), commands=[" ".join(c) for c in plan.commands], deferred=plan.deferred, diff=diff
    )


if __name__ == "__main__":
    main()
