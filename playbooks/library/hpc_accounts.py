#!/usr/bin/python
"""Users and groups with fixed ids, all in one round trip."""

from __future__ import annotations

DOCUMENTATION = r"""
module: hpc_accounts
short_description: Groups and users with the same ids on every host
description:
  - Slurm, munge and NFS identify people by number, so the numbers have to be equal everywhere.
  - An id that belongs to somebody else, or a user that exists with another id, is an error that names both;
    nothing is renumbered behind the admin's back.
  - A home directory on storage that hosts share is made once, whichever host is first. Where root may not write there
    (root_squash), the user is made without it and a warning says so.
  - The home directory of a user that exists is not moved; a warning names it.
options:
  groups:
    description: Groups, made before the users.
    type: list
    elements: dict
    default: []
    suboptions:
      name: {type: str, required: true, description: Group name.}
      gid: {type: int, required: true, description: Its id.}
  users:
    description: Users.
    type: list
    elements: dict
    default: []
    suboptions:
      name: {type: str, required: true, description: User name.}
      uid: {type: int, required: true, description: Its id.}
      group: {type: str, description: Primary group; default is a group of the same name and id.}
      gid: {type: int, description: Id of the group of the same name; default is the uid.}
      groups: {type: list, elements: str, default: [], description: Further groups; they have to exist.}
      home: {type: path, description: Home directory; default is one below C(home_base).}
      create_home: {type: bool, default: true, description: Make the home directory.}
      shell: {type: path, default: /bin/bash, description: Login shell.}
      system: {type: bool, default: false, description: A daemon's account.}
      comment: {type: str, default: "", description: Full name.}
  home_base:
    description: Parent of the home directories that are not given.
    type: path
    default: /home
author: [hpcprov]
"""

EXAMPLES = r"""
- name: accounts | Slurm's user is the same everywhere
  hpc_accounts:
    users: [{name: slurm, uid: 64030, system: true, home: /var/lib/slurm, shell: /usr/sbin/nologin}]
"""

RETURN = r"""
created:
  description: Names of the groups and users that were made.
  type: list
  returned: always
"""

import grp
import os
import pwd
import stat

from ansible.module_utils.basic import AnsibleModule

# Exit status of useradd: the home directory cannot be made.
NO_HOME = 12


def find(lookup, key):
    """The entry of the user or group database, None when there is none."""
    try:
        return lookup(key)
    except KeyError:
        return None


class Accounts:
    """Compares what is wanted with the databases of the host, then makes what is missing."""

    def __init__(self, module):
        self.module = module
        self.created = []
        self.conflicts = []

    def run(self, *command):
        """Run one of the shadow tools, unless this is a check."""
        if not self.module.check_mode:
            self.module.run_command(list(command), check_rc=True)

    def check_group(self, name, gid):
        """Note a conflict, and tell whether the group exists already."""
        by_name, by_id = find(grp.getgrnam, name), find(grp.getgrgid, gid)
        if by_name and by_name.gr_gid != gid:
            self.conflicts.append("group %s has gid %d here, the site wants %d" % (name, by_name.gr_gid, gid))
        elif not by_name and by_id:
            self.conflicts.append("gid %d, wanted for group %s, belongs to group %s" % (gid, name, by_id.gr_name))
        return by_name is not None

    def check_user(self, name, uid):
        """Note a conflict, and tell whether the user exists already."""
        by_name, by_id = find(pwd.getpwnam, name), find(pwd.getpwuid, uid)
        if by_name and by_name.pw_uid != uid:
            self.conflicts.append("user %s has uid %d here, the site wants %d" % (name, by_name.pw_uid, uid))
        elif not by_name and by_id:
            self.conflicts.append("uid %d, wanted for user %s, belongs to user %s" % (uid, name, by_id.pw_name))
        return by_name is not None

    def group(self, name, gid):
        """Make the group unless it is there."""
        if not find(grp.getgrnam, name):
            self.run("groupadd", "--gid", str(gid), name)
            self.created.append("group %s" % name)

    def user(self, spec):
        """Make the user unless it is there, and add the groups that it lacks."""
        name = spec["name"]
        present = find(pwd.getpwnam, name)
        if not present:
            if not self.module.check_mode:
                self.add_user(spec)
            self.created.append("user %s" % name)
            return
        if not spec["system"] and present.pw_dir != spec["home"]:
            self.module.warn(
                "the home directory of %s is %s here, the site wants %s: move it by hand with "
                "usermod --home %s --move-home %s" % (name, present.pw_dir, spec["home"], spec["home"], name)
            )
        missing = [g for g in spec["groups"] if name not in grp.getgrnam(g).gr_mem]
        if missing:
            self.run("usermod", "--append", "--groups", ",".join(missing), name)
            self.created.append("%s in %s" % (name, ",".join(missing)))

    def add_user(self, spec):
        """Run useradd. Hosts may make one home directory on shared storage at the same moment: only one succeeds."""
        make_parents(spec)
        status, _, error = self.module.run_command(self.useradd(spec))
        if status == NO_HOME and not find(pwd.getpwnam, spec["name"]):
            status, _, error = self.module.run_command(self.useradd(dict(spec, create_home=False)))
        if status not in (0, NO_HOME):
            self.module.fail_json(msg="useradd %s failed: %s" % (spec["name"], error.strip()), rc=status)
        if not spec["create_home"]:
            return
        if os.path.isdir(spec["home"]):
            give_home(spec["home"], pwd.getpwnam(spec["name"]))
        else:
            self.module.warn(
                "the home directory %s of %s cannot be made on this host: make it where its storage is served"
                % (spec["home"], spec["name"])
            )

    @staticmethod
    def useradd(spec):
        """The command line that makes a user."""
        command = ["useradd", "--uid", str(spec["uid"]), "--gid", spec["group"] or spec["name"]]
        command += ["--shell", spec["shell"], "--comment", spec["comment"]]
        command += ["--home-dir", spec["home"]]
        if spec["groups"]:
            command += ["--groups", ",".join(spec["groups"])]
        if spec["system"]:
            command.append("--system")
        home_exists = os.path.isdir(spec["home"])
        command.append("--create-home" if spec["create_home"] and not home_exists else "--no-create-home")
        return [*command, spec["name"]]


def make_parents(spec):
    """The directories above a home: some versions of useradd make none, others fail when two hosts make them."""
    if spec["create_home"]:
        parent = os.path.dirname(spec["home"].rstrip("/"))
        # Open to read, whatever umask Ansible was given.
        before = os.umask(0o022)
        try:
            os.makedirs(parent, mode=0o755, exist_ok=True)
        except OSError:
            pass  # Not root's to write; useradd's failure is told with its reason.
        finally:
            os.umask(before)


def give_home(path, user):
    """Hand over an empty directory that root has made, also one that another host is about to hand over."""
    try:
        found = os.stat(path)
        if found.st_uid != 0 or user.pw_uid == 0 or os.listdir(path):
            return
        os.chown(path, user.pw_uid, user.pw_gid)
        if not stat.S_IMODE(found.st_mode):
            os.chmod(path, 0o700)
    except OSError:
        pass  # Storage that root may not change, or a directory that is gone again: nothing to hand over.


def wanted_groups(params):
    """Every group that is needed: the given ones, and each user's own."""
    groups = [(g["name"], g["gid"]) for g in params["groups"]]
    groups += [(u["name"], u["gid"] or u["uid"]) for u in params["users"] if not u["group"]]
    return groups


def main():
    """Entry point of the module."""
    user_options = {
        "name": {"type": "str", "required": True},
        "uid": {"type": "int", "required": True},
        "group": {"type": "str"},
        "gid": {"type": "int"},
        "groups": {"type": "list", "elements": "str", "default": []},
        "home": {"type": "path"},
        "create_home": {"type": "bool", "default": True},
        "shell": {"type": "path", "default": "/bin/bash"},
        "system": {"type": "bool", "default": False},
        "comment": {"type": "str", "default": ""},
    }
    group_options = {"name": {"type": "str", "required": True}, "gid": {"type": "int", "required": True}}
    module = AnsibleModule(
        argument_spec={
            "groups": {"type": "list", "elements": "dict", "default": [], "options": group_options},
            "users": {"type": "list", "elements": "dict", "default": [], "options": user_options},
            "home_base": {"type": "path", "default": "/home"},
        },
        supports_check_mode=True,
    )
    accounts = Accounts(module)
    for user in module.params["users"]:
        user["home"] = user["home"] or os.path.join(module.params["home_base"], user["name"])
    groups = wanted_groups(module.params)
    for name, gid in groups:
        accounts.check_group(name, gid)
    for user in module.params["users"]:
        accounts.check_user(user["name"], user["uid"])
    if accounts.conflicts:
        module.fail_json(
            msg="ids are taken: %s. Give the site other ids, or renumber by hand: "
            "a change of ids needs every file of that user changed too" % "; ".join(accounts.conflicts)
        )
    for name, gid in groups:
        accounts.group(name, gid)
    for user in module.params["users"]:
        accounts.user(user)
    module.exit_json(changed=bool(accounts.created), created=accounts.created)


if __name__ == "__main__":
    main()
