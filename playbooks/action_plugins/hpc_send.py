"""Send many files to a directory of a host in one stream.

`ansible.builtin.copy` stores each file on the host twice and reads it three times; for 280 MB of wheels it took 14 s
where one stream through the open connection took 2 s. Whoever uses the files checks their hashes.
"""

from __future__ import annotations

import io
import shlex
import tarfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ansible.errors import AnsibleActionFail
from ansible.plugins.action import ActionBase

# A batch is held in memory; a file beyond it travels by itself, through the connection's own file transfer.
BATCH = 256 * 1024 * 1024
ALONE = 1024 * 1024 * 1024


def batches(paths: list[Path]) -> Iterator[list[Path]]:
    """Groups of files of about BATCH bytes, in order."""
    group: list[Path] = []
    size = 0
    for path in paths:
        length = path.stat().st_size
        if group and size + length > BATCH:
            yield group
            group, size = [], 0
        group.append(path)
        size += length
    if group:
        yield group


def archive(paths: list[Path]) -> bytes:
    """A tar archive, not compressed: wheels are already."""
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w") as tar:
        for path in paths:
            member = tar.gettarinfo(path, arcname=path.name)
            member.uid = member.gid = 0
            member.uname = member.gname = "root"
            member.mode = 0o644
            with path.open("rb") as handle:
                tar.addfile(member, handle)
    return stream.getvalue()


class ActionModule(ActionBase):  # type: ignore[misc]
    """Arguments: `files` (paths on the control host) and `dest` (an existing directory on the host)."""

    TRANSFERS_FILES = True
    _VALID_ARGS = frozenset(("files", "dest"))

    def run(self, tmp: Any = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        result: dict[str, Any] = super().run(tmp, task_vars)
        paths = [Path(path) for path in self._task.args["files"]]
        dest = str(self._task.args["dest"])
        result.update(changed=bool(paths), sent=[path.name for path in paths])
        if paths and not self._task.check_mode:
            large = [path for path in paths if path.stat().st_size >= ALONE]
            for group in batches([path for path in paths if path not in large]):
                self.stream(group, dest)
            for path in large:
                self.transfer(path, dest)
        return result

    def stream(self, paths: list[Path], dest: str) -> None:
        """Files appear under their names only when they are whole."""
        incoming = shlex.quote(f"{dest}/.incoming")
        names = " ".join(shlex.quote(path.name) for path in paths)
        command = (
            f"mkdir -p {incoming} && cd {incoming} && tar -x -f - --no-same-owner && mv -f {names} ../"
            f" && rmdir {incoming}"
        )
        self.execute(command, archive(paths))

    def transfer(self, path: Path, dest: str) -> None:
        """A very large file, kept out of memory."""
        folder = self._make_tmp_path()
        remote = self._connection._shell.join_path(folder, path.name)
        self._transfer_file(str(path), remote)
        partial, final = shlex.quote(f"{dest}/.incoming-{path.name}"), shlex.quote(f"{dest}/{path.name}")
        self.execute(f"cat {shlex.quote(remote)} > {partial} && chmod 0644 {partial} && mv -f {partial} {final}", None)
        self._remove_tmp_path(folder)

    def execute(self, command: str, data: bytes | None) -> None:
        answer = self._low_level_execute_command(f"umask 022; {command}", in_data=data)
        if answer["rc"] != 0:
            said = (answer["stderr"] or answer["stdout"]).strip().splitlines()
            raise AnsibleActionFail(f"the files could not be sent: {said[-1] if said else 'no reason given'}")
