#!/usr/bin/python
# SPDX-License-Identifier: Apache-2.0
"""A MariaDB database and the user who owns it, over the server's own socket."""

from __future__ import annotations

DOCUMENTATION = r"""
module: hpc_database
short_description: Database and user of slurmdbd in one round trip
description:
  - Talks to the server as root through its socket with the server's own client, so the host needs no Python driver.
  - The password never leaves the module. The server is sent its hash, on standard input; no command line, log or
    diff shows either.
options:
  database: {type: str, required: true, description: Name of the database.}
  user: {type: str, required: true, description: Name of the user.}
  password: {type: str, required: true, description: Password of the user.}
  hosts: {type: list, elements: str, default: [localhost], description: Hosts from which the user may connect.}
  client: {type: str, default: mariadb, description: Name of the client program.}
author: [hpcprov]
"""

EXAMPLES = r"""
- name: database | Accounting database exists
  hpc_database:
    database: slurm_acct_db
    user: slurm
    password: "{{ lookup('ansible.builtin.file', mariadb_password_file) | trim }}"
"""

RETURN = r"""
actions:
  description: What was (in check mode would be) done, without secrets.
  type: list
  returned: always
"""

import hashlib
import re

from ansible.module_utils.basic import AnsibleModule

NAME = re.compile(r"^[A-Za-z0-9_$]+$")
HOST = re.compile(r"^[A-Za-z0-9_.:%/-]+$")


def native_hash(password):
    """What mysql_native_password keeps of a password: '*' and SHA1(SHA1(password))."""
    inner = hashlib.sha1(password.encode()).digest()
    return "*" + hashlib.sha1(inner).hexdigest().upper()


def read_query(database, user):
    """One query for all that has to be known: the schema, the user's hosts with hash, and the hosts with all rights."""
    return (
        "SELECT 'schema', schema_name, '' FROM information_schema.schemata WHERE schema_name='{database}';\n"
        # Servers before 10.4 keep the hash in the older column.
        "SELECT 'user', Host, IF(authentication_string = '', Password, authentication_string)"
        " FROM mysql.user WHERE User='{user}';\n"
        "SELECT 'grant', Host, '' FROM mysql.db WHERE User='{user}' AND Db='{database}'"
        " AND 'N' NOT IN (Select_priv, Insert_priv, Update_priv, Delete_priv, Create_priv, Drop_priv, Index_priv,"
        " Alter_priv, Create_tmp_table_priv, Lock_tables_priv, Create_view_priv, Create_routine_priv,"
        " Alter_routine_priv, Execute_priv, Trigger_priv);\n"
    ).format(database=database, user=user)


def parse_state(text):
    """Rows of `read_query` (tab separated) as a dict."""
    state = {"schema": False, "users": {}, "grants": set()}
    for line in text.splitlines():
        kind, name, value = ([*line.split("\t"), "", ""])[:3]
        if kind == "schema":
            state["schema"] = True
        elif kind == "user":
            state["users"][name] = value
        elif kind == "grant":
            state["grants"].add(name)
    return state


def plan(state, database, user, password_hash, hosts):
    """(statements, what they do in words) that bring `state` to the wanted one. Pure."""
    statements, actions = [], []
    if not state["schema"]:
        statements.append("CREATE DATABASE `%s`" % database)
        actions.append("database %s" % database)
    for host in hosts:
        account = "'%s'@'%s'" % (user, host)
        identified = "IDENTIFIED VIA mysql_native_password USING '%s'" % password_hash
        if host not in state["users"]:
            statements.append("CREATE USER %s %s" % (account, identified))
            actions.append("user %s@%s" % (user, host))
        elif state["users"][host] != password_hash:
            statements.append("ALTER USER %s %s" % (account, identified))
            actions.append("password of %s@%s" % (user, host))
        if host not in state["grants"]:
            statements.append("GRANT ALL PRIVILEGES ON `%s`.* TO %s" % (database, account))
            actions.append("rights of %s@%s on %s" % (user, host, database))
    return statements, actions


def run_sql(module, sql):
    """(rc, output, error) of SQL that the client reads from standard input."""
    command = [module.params["client"], "--user=root", "--batch", "--skip-column-names"]
    return module.run_command(command, data=sql)


def read_state(module):
    """State of the server; empty in check mode when there is none yet."""
    empty = {"schema": False, "users": {}, "grants": set()}
    if not module.get_bin_path(module.params["client"]):
        if module.check_mode:
            return empty
        module.fail_json(msg="there is no %s on this host: MariaDB is not installed" % module.params["client"])
    rc, out, err = run_sql(module, read_query(module.params["database"], module.params["user"]))
    if rc == 0:
        return parse_state(out)
    if module.check_mode:
        return empty
    return module.fail_json(msg="MariaDB does not answer on its socket: %s" % err.strip())


def check_names(module):
    """Names go into SQL, so they are held to what needs no quoting."""
    for option in ("database", "user"):
        if not NAME.match(module.params[option]):
            module.fail_json(msg="%s: letters, digits, _ and $ only, not %r" % (option, module.params[option]))
    for host in module.params["hosts"]:
        if not HOST.match(host):
            module.fail_json(msg="hosts: %r is not a host, address or pattern" % host)


def main():
    """Entry point of the module."""
    module = AnsibleModule(
        argument_spec={
            "database": {"type": "str", "required": True},
            "user": {"type": "str", "required": True},
            "password": {"type": "str", "required": True, "no_log": True},
            "hosts": {"type": "list", "elements": "str", "default": ["localhost"]},
            "client": {"type": "str", "default": "mariadb"},
        },
        supports_check_mode=True,
    )
    check_names(module)
    parameters = module.params
    password_hash = native_hash(parameters["password"])
    state = read_state(module)
    statements, actions = plan(state, parameters["database"], parameters["user"], password_hash, parameters["hosts"])
    if statements and not module.check_mode:
        rc, _, err = run_sql(module, ";\n".join(statements) + ";\n")
        if rc != 0:
            module.fail_json(msg="MariaDB: %s" % err.strip().replace(password_hash, "(hash)"), actions=actions)
    diff = {"before": "", "after": "".join(action + "\n" for action in actions)}
    module.exit_json(changed=bool(statements), actions=actions, diff=diff)


if __name__ == "__main__":
    main()
