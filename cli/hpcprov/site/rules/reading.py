"""Rules that reading itself applies, before there are hosts to look at. Named here so that all rules are listed."""

from __future__ import annotations

READING_RULES = {
    "file-missing": "The site file cannot be read.",
    "file-name": "Ansible reads YAML only from files that end in .yaml, .yml or .json.",
    "ini-inventory": "The file is an INI inventory; a site file is YAML.",
    "not-an-inventory": "The YAML is not a mapping of groups.",
    "no-hosts": "The file names no host. Ansible would say nothing and do nothing.",
    "yaml-syntax": "The file is not valid YAML.",
    "yaml-value": "A value does not fit its YAML type.",
    "yaml-tag": "A tag that Ansible does not know; it would refuse the file.",
    "yaml-aliases": "Aliases of aliases that would fill the memory of whoever reads the file.",
    "encrypted": "The whole file is encrypted; only secrets in it may be.",
    "yaml-key": "A key is a list or a mapping; often an unquoted template.",
    "yaml-merge": "A merge key (<<) points to something that is no mapping.",
    "yaml-recursion": "A YAML anchor holds itself.",
    "duplicate-key": "A key stands twice in one mapping; Ansible keeps the last.",
    "group-not-mapping": "A group holds something other than hosts, children and vars.",
    "unknown-group-key": "A key of a group is not hosts, children or vars; Ansible drops it.",
    "hosts-not-mapping": "hosts: is a list; Ansible then drops the whole file.",
    "children-not-mapping": "children: is a list; Ansible then drops the whole file.",
    "vars-not-mapping": "vars: is no mapping.",
    "host-vars-not-mapping": "A host holds something other than variables.",
    "host-name-not-text": "A host name is a number or another type to YAML.",
    "group-name-not-text": "A group name is a number or another type to YAML.",
    "host-name-whitespace": "A host name holds whitespace: two lines without colons became one name.",
    "group-name": "A group name holds whitespace.",
    "group-loop": "A group is its own child.",
    "host-range": "A host range is no range of Ansible's, or names no host.",
}
