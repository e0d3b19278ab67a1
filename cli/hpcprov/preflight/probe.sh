# What preflight wants to know about a host. Any POSIX shell runs it, as root where it may; no Python is needed, nothing is
# changed. It prints sections, "@@ name" and raw lines; hpcprov.preflight.facts reads them.
#
# Set before it, from the site: node_name, site_hosts (name=address), addresses (ahostsv4 or ahostsv6), user_keys,
# group_keys, ports, directories, python.

LC_ALL=C
PATH=$PATH:/usr/sbin:/usr/bin:/sbin:/bin
export LC_ALL PATH

section() { printf '\n@@ %s\n' "$1"; }
have() { command -v "$1" >/dev/null 2>&1; }
# A name server or directory server that does not answer must not stop the rest.
within() {
  if have timeout; then timeout "$@"; else shift; "$@"; fi
}

section started
date +%s.%N

section identity
echo "uid=$(id -u)"
read -r hostname </proc/sys/kernel/hostname
echo "hostname=$hostname"
read -r boot </proc/sys/kernel/random/boot_id
# Containers of one machine share its boot, never these namespaces; clones of one disk share neither.
echo "instance=$boot $(readlink /proc/self/ns/uts) $(readlink /proc/self/ns/pid)"
echo "machine=$(uname -m)"
echo "libc=$(getconf GNU_LIBC_VERSION 2>/dev/null)"
echo "cpus=$(grep -c '^processor' /proc/cpuinfo)"
if [ -e /dev/nvidiactl ]; then echo gpu=nvidia; fi
if [ -e /run/systemd/container ] || [ -e /run/.containerenv ] || [ -e /.dockerenv ]; then echo container=yes; fi
if have slurmd || have slurmctld || have sinfo; then echo slurm=yes; fi

section os-release
cat /etc/os-release 2>/dev/null

section pythons
for candidate in $python /usr/bin/python3 /usr/bin/python3.13 /usr/bin/python3.12 /usr/bin/python3.11 \
  /usr/bin/python3.10 /usr/bin/python3.9 /usr/bin/python3.8 "$(command -v python3)"; do
  [ -x "$candidate" ] || continue
  version=$("$candidate" -c 'import platform; print(platform.python_version())' 2>/dev/null) || continue
  echo "$candidate $version"
  case $version in 3.[0-7].* | 2.*) ;; *) break ;; esac
done

section mounts
head -n 1000 /proc/self/mounts

section disk
# shellcheck disable=SC2086  # a list of paths
df -Pk $directories 2>/dev/null
section inodes
# shellcheck disable=SC2086
df -Pi $directories 2>/dev/null
section writable
for directory in $directories; do
  [ -d "$directory" ] || continue
  if [ -w "$directory" ]; then echo "yes $directory"; else echo "no $directory"; fi
done

section memory
grep -E '^(MemTotal|MemAvailable):' /proc/meminfo

section users
# shellcheck disable=SC2086
within 10 getent passwd $user_keys | cut -d: -f1-4
section groups
# shellcheck disable=SC2086
within 10 getent group $group_keys | cut -d: -f1-3

section own-name
within 10 getent ahosts "$node_name" | sed 's/ .*//' | sort -u
section hosts-file
grep -E -w -e '^127\.[0-9.]*' -e "$node_name" -e '[Aa]nsible managed' /etc/hosts
section nsswitch
grep '^hosts:' /etc/nsswitch.conf
section site-names
if grep -q 'nsible managed' /etc/hosts; then
  # One family only: `getent hosts` would ask name servers for IPv6 addresses of names that stand in /etc/hosts.
  # Only what differs is told: all names from all hosts would be millions of lines in a large site.
  # shellcheck disable=SC2046,SC2086
  {
    printf '%s\n' $site_hosts
    within 10 getent "$addresses" $(printf '%s\n' $site_hosts | cut -d= -f1)
    case $? in 124 | 143) echo timeout ;; esac
  } | awk '
    $1 == "timeout" {print; count = 0; exit}
    split($1, pair, "=") == 2 {order[++count] = pair[1]; expected[pair[1]] = pair[2]}
    $2 == "STREAM" {
      name = $3
      if (!(name in expected)) sub(/[.].*/, "", name)
      if (!(name in got)) got[name] = $1
    }
    END {
      for (i = 1; i <= count; i++) {
        name = order[i]
        if (!(name in got)) got[name] = "nothing"
        if (got[name] != expected[name]) print name, got[name]
      }
    }'
fi

section addresses
if have ip; then ip -o addr show; fi

section listening
if have ss; then
  ss -Hltnp
else
  # As ss prints it, for the ports that count.
  sockets=$(ls -l /proc/[0-9]*/fd 2>/dev/null | grep -e '^/proc/' -e 'socket:\[')
  for port in $ports; do
    for inode in $(awk -v port=":$(printf '%04X' "$port")" '$4 == "0A" && substr($2, length($2) - 4) == port {print $10}' \
      /proc/net/tcp /proc/net/tcp6 2>/dev/null); do
      pid=$(echo "$sockets" | awk -F/ -v inode="socket:[$inode]" '/^\/proc\// {pid = $3} index($0, inode) {print pid; exit}')
      [ -n "$pid" ] && read -r comm </proc/"$pid"/comm && users="users:((\"$comm\",pid=$pid,fd=0))"
      echo "LISTEN 0 0 *:$port *:* $users"
      users=
    done
  done
fi

section processes
for pid in $(ss -Hltnp 2>/dev/null | grep -o 'pid=[0-9]*' | sort -u | cut -d= -f2); do
  read -r comm </proc/"$pid"/comm || continue
  unit=
  while IFS= read -r line; do
    case ${line##*/} in *.service | *.scope) unit=${line##*/} ;; esac
  done </proc/"$pid"/cgroup
  echo "$pid $comm $unit"
done 2>/dev/null

section package-locks
files="/var/lib/dpkg/lock-frontend /var/lib/dpkg/lock /var/lib/apt/lists/lock /var/cache/apt/archives/lock
/var/lib/rpm/.rpm.lock /usr/lib/sysimage/rpm/.rpm.lock /run/dnf/rpmtransaction.lock"
for pid in $(sed -n 's/^[0-9]*: [A-Z]* *[A-Z]* *WRITE *\([0-9][0-9]*\) .*/\1/p' /proc/locks | sort -u); do
  held=$(ls -l /proc/"$pid"/fd 2>/dev/null | sed -n 's/.* -> //p')
  for file in $files; do
    case "
$held
" in *"
$file
"*)
        echo "$pid $file $(tr '\0' ' ' </proc/"$pid"/cmdline | cut -c1-160)"
        break
        ;;
    esac
  done
done
# dnf and yum write the number of the process that works.
for file in /var/cache/dnf/metadata_lock.pid /var/lib/dnf/rpmdb_lock.pid /var/cache/dnf/download_lock.pid /run/yum.pid; do
  if [ -s "$file" ]; then
    read -r pid <"$file"
    command=$(tr '\0' ' ' 2>/dev/null </proc/"$pid"/cmdline | cut -c1-160)
    case $command in *dnf* | *yum* | *packagekit* | *ansible*) echo "$pid $file $command" ;; esac
  fi
done
section package-database
if have dpkg; then
  for file in /var/lib/dpkg/updates/[0-9]*; do
    [ -e "$file" ] && echo interrupted && break
  done
fi

section nft
# Half a rule set would say the opposite of the whole.
bounded() { sed -e '20000s/.*/truncated/' -e 20000q; }
if have nft; then nft list ruleset 2>/dev/null | bounded; fi
section iptables
# Legacy iptables are asked only where they are in use: asking would load their modules.
if grep -qs filter /proc/net/ip_tables_names; then
  if have iptables-legacy-save; then iptables-legacy-save -t filter; else iptables-save -t filter; fi
elif have iptables-save && iptables-save -V | grep -q nf_tables; then
  iptables-save -t filter
fi 2>/dev/null | bounded

section finished
date +%s.%N
section end
