#!/usr/bin/python
"""Every file of a role in one round trip: content, owner, group and mode, with check mode and diff."""

from __future__ import annotations

DOCUMENTATION = r"""
module: hpc_files
short_description: Place many files, directories and links in one call
description:
  - A role with eight configuration files would cost eight round trips per host; this places them all in one.
  - A file is written beside its place and renamed, so a reader never sees half of it. Where the place is a bind
    mount (/etc/hosts in a container) it is written in place.
options:
  files:
    description: What has to be there.
    type: list
    elements: dict
    required: true
    suboptions:
      dest: {type: path, required: true, description: Absolute path on the host.}
      state:
        type: str
        choices: [file, directory, link, absent]
        default: file
        description: What the path has to be. C(absent) removes a file or a link, or an empty directory.
      content: {type: str, description: Text of the file. Without content only its owner and mode are kept.}
      secret: {type: str, description: Like content, but never shown in a log or a diff.}
      secret_base64: {type: str, description: Like secret, for bytes that are no text.}
      block:
        type: str
        description: >-
          Lines that are kept between two markers, so that the rest of the file stays as it is.
      backup:
        type: bool
        default: false
        description: Keep what was there before the first change as C(<dest>.before-hpcprov).
      validate:
        type: str
        description: >-
          A command that has to accept the new content before it takes its place; C(%s) is the path of a draft in the
          same directory.
      create_only: {type: bool, default: false, description: Leave an existing file as it is.}
      target: {type: path, description: What a link points at.}
      owner: {type: str, description: User name or id.}
      group: {type: str, description: Group name or id.}
      mode: {type: str, description: 'Mode in octal, quoted: "0644".'}
      unsafe_writes: {type: bool, default: false, description: Always write in place.}
  marker:
    description: Comment lines around a C(block); C({mark}) becomes BEGIN or END.
    type: str
    default: "# {mark} hpcprov"
author: [hpcprov]
"""

RETURN = r"""
changed_files:
  description: The paths that were (or, in check mode, would be) changed.
  type: list
  returned: always
"""

EXAMPLES = r"""
- name: configure | Munge is configured
  hpc_files:
    files:
      - {dest: /etc/munge, state: directory, owner: munge, group: munge, mode: "0700"}
      - {dest: /etc/default/munge, content: "OPTIONS=\n", mode: "0644"}
"""

import base64
import errno
import grp
import os
import pwd
import shutil
import stat
import tempfile

from ansible.module_utils.basic import AnsibleModule
from ansible.module_utils.common.text.converters import to_bytes, to_text


def wanted_owner(spec):
    """uid and gid of the specification, -1 for "leave as it is". Raises KeyError with the name when unknown."""
    uid = gid = -1
    if spec.get("owner") is not None:
        uid = int(spec["owner"]) if spec["owner"].isdigit() else pwd.getpwnam(spec["owner"]).pw_uid
    if spec.get("group") is not None:
        gid = int(spec["group"]) if spec["group"].isdigit() else grp.getgrnam(spec["group"]).gr_gid
    return uid, gid


def read(path):
    """Bytes of a file, None when there is none."""
    try:
        with open(path, "rb") as handle:
            return handle.read()
    except OSError as error:
        if error.errno == errno.ENOENT:
            return None
        raise


def merge_block(before, block, marker):
    """`before` with the lines between the markers replaced by `block`; appended when there are no markers."""
    begin, end = marker.replace("{mark}", "BEGIN"), marker.replace("{mark}", "END")
    lines = to_text(before or b"").splitlines()
    body = [begin, *block.rstrip("\n").split("\n"), end]
    if begin in lines and end in lines[lines.index(begin) :]:
        start = lines.index(begin)
        stop = start + lines[start:].index(end)
        lines[start : stop + 1] = body
    else:
        lines += body
    return to_bytes("\n".join(lines) + "\n")


class Placer:
    """Applies specifications one by one and keeps what changed."""

    def __init__(self, module):
        self.module = module
        self.check = module.check_mode
        self.changed = []
        self.diffs = []

    def note(self, path, before="", after=""):
        """Remember one change."""
        if path not in self.changed:
            self.changed.append(path)
        self.diffs.append({"before_header": path, "after_header": path, "before": before, "after": after})

    def apply(self, spec):
        """Bring one path to its wanted state."""
        getattr(self, "_" + spec["state"])(spec)

    def _absent(self, spec):
        path = spec["dest"]
        if not os.path.lexists(path):
            return
        self.note(path, "present\n", "absent\n")
        if self.check:
            return
        if os.path.isdir(path) and not os.path.islink(path):
            os.rmdir(path)
        else:
            os.unlink(path)

    def _directory(self, spec):
        path = spec["dest"]
        if not os.path.isdir(path):
            self.note(path, "absent\n", "directory\n")
            if self.check:
                return
            os.makedirs(path, 0o755)
        self._attributes(spec)

    def _link(self, spec):
        path, target = spec["dest"], spec["target"]
        current = os.readlink(path) if os.path.islink(path) else None
        if current == target:
            return
        self.note(path, "%s\n" % current, "%s\n" % target)
        if self.check:
            return
        self._parent(path)
        temporary = path + ".hpcprov"
        if os.path.lexists(temporary):
            os.unlink(temporary)
        os.symlink(target, temporary)
        os.rename(temporary, path)

    def _file(self, spec):
        path = spec["dest"]
        if os.path.isdir(path):
            self.module.fail_json(msg="%s is a directory, a file was wanted" % path)
        before = read(path)
        after = self._content(spec, before)
        if after is None and before is None:
            self.module.fail_json(msg="%s does not exist and no content was given" % path)
        if after is not None and after != before:
            if spec.get("secret") is not None or spec.get("secret_base64") is not None:
                self.note(path, "(secret)\n", "(new secret)\n")
            else:
                self.note(path, to_text(before or b"", errors="replace"), to_text(after, errors="replace"))
            if self.check:
                return
            self._parent(path)
            if spec["backup"] and before is not None:
                self._backup(path)
            self._write(spec, after)
        self._attributes(spec)

    def _content(self, spec, before):
        if spec.get("create_only") and before is not None:
            return None
        if spec.get("block") is not None:
            return merge_block(before, spec["block"], self.module.params["marker"])
        if spec.get("secret_base64") is not None:
            return base64.b64decode(spec["secret_base64"])
        for key in ("content", "secret"):
            if spec.get(key) is not None:
                return to_bytes(spec[key])
        return None

    @staticmethod
    def _backup(path):
        original = path + ".before-hpcprov"
        if not os.path.lexists(original):
            shutil.copy2(path, original)

    @staticmethod
    def _parent(path):
        parent = os.path.dirname(path)
        if not os.path.isdir(parent):
            os.makedirs(parent, 0o755)

    def _write(self, spec, data):
        path = os.path.realpath(spec["dest"])
        if spec["unsafe_writes"] or os.path.ismount(path):
            return self._write_in_place(path, data)
        uid, gid = self._ids(spec)
        handle, temporary = tempfile.mkstemp(prefix=".hpcprov-", dir=os.path.dirname(path))
        try:
            with os.fdopen(handle, "wb") as stream:
                stream.write(data)
                stream.flush()
                os.fsync(stream.fileno())
            self._validate(spec, temporary)
            self._keep_attributes(path, temporary)
            if uid != -1 or gid != -1:
                os.chown(temporary, uid, gid)
            if spec.get("mode"):
                os.chmod(temporary, int(spec["mode"], 8))
            try:
                os.rename(temporary, path)
            except OSError as error:
                # A file that is itself a bind mount cannot be replaced, only rewritten.
                if error.errno not in (errno.EBUSY, errno.EXDEV):
                    raise
                self._write_in_place(path, data)
        finally:
            if os.path.exists(temporary):
                os.unlink(temporary)
        return None

    def _validate(self, spec, draft):
        """End unless the program that will read the file accepts it; what was there stays."""
        if not spec["validate"]:
            return
        command = spec["validate"].replace("%s", draft)
        rc, out, err = self.module.run_command(command)
        if rc != 0:
            os.unlink(draft)
            said = (err or out).strip().replace(draft, spec["dest"])
            self.module.fail_json(
                msg="%s was left as it is, the new one is refused: %s" % (spec["dest"], "; ".join(said.splitlines())),
                changed_files=self.changed,
            )

    @staticmethod
    def _write_in_place(path, data):
        with open(path, "wb") as stream:
            stream.write(data)

    @staticmethod
    def _keep_attributes(path, temporary):
        if os.path.exists(path):
            status = os.stat(path)
            os.chown(temporary, status.st_uid, status.st_gid)
            os.chmod(temporary, stat.S_IMODE(status.st_mode))
        else:
            os.chmod(temporary, 0o644)

    def _ids(self, spec):
        try:
            return wanted_owner(spec)
        except KeyError as error:
            if self.check:
                return -1, -1
            self.module.fail_json(msg="%s: no such user or group: %s" % (spec["dest"], error))

    def _attributes(self, spec):
        path = spec["dest"]
        status = os.stat(path)
        uid, gid = self._ids(spec)
        if (uid not in (-1, status.st_uid)) or (gid not in (-1, status.st_gid)):
            self.note(
                path,
                "owner %s:%s\n" % (status.st_uid, status.st_gid),
                "owner %s:%s\n" % (uid if uid != -1 else status.st_uid, gid if gid != -1 else status.st_gid),
            )
            if not self.check:
                os.chown(path, uid, gid)
        if spec.get("mode") and stat.S_IMODE(status.st_mode) != int(spec["mode"], 8):
            self.note(path, "mode %04o\n" % stat.S_IMODE(status.st_mode), "mode %04o\n" % int(spec["mode"], 8))
            if not self.check:
                os.chmod(path, int(spec["mode"], 8))


class SilentModule(AnsibleModule):
    """A module whose arguments are not written to the journal of the host.

    What Ansible hides there it looks for as it was given, but the arguments of a list are logged with their line ends
    escaped: a secret of several lines (slurmdbd.conf) would stand in clear. A constructor argument cannot say this, the
    task's own no_log overrides it.
    """

    def _log_invocation(self):
        """Log nothing."""


def main():
    """Entry point of the module."""
    options = {
        "dest": {"type": "path", "required": True},
        "state": {"type": "str", "choices": ["file", "directory", "link", "absent"], "default": "file"},
        "content": {"type": "str"},
        "secret": {"type": "str", "no_log": True},
        "secret_base64": {"type": "str", "no_log": True},
        "block": {"type": "str"},
        "backup": {"type": "bool", "default": False},
        "validate": {"type": "str"},
        "create_only": {"type": "bool", "default": False},
        "target": {"type": "path"},
        "owner": {"type": "str"},
        "group": {"type": "str"},
        "mode": {"type": "str"},
        "unsafe_writes": {"type": "bool", "default": False},
    }
    module = SilentModule(
        argument_spec={
            "files": {
                "type": "list",
                "elements": "dict",
                "required": True,
                "options": options,
                "mutually_exclusive": [["content", "secret", "secret_base64", "block"]],
                "required_if": [["state", "link", ["target"]]],
            },
            "marker": {"type": "str", "default": "# {mark} hpcprov"},
        },
        supports_check_mode=True,
    )
    placer = Placer(module)
    for spec in module.params["files"]:
        try:
            placer.apply(spec)
        except OSError as error:
            module.fail_json(msg="%s: %s" % (spec["dest"], error), changed_files=placer.changed)
    module.exit_json(changed=bool(placer.changed), changed_files=placer.changed, diff=placer.diffs)


if __name__ == "__main__":
    main()
