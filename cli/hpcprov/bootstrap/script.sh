# What bootstrap does on a host, as root. Any POSIX shell runs it. Set before it: admin, public_key, dry (yes or empty).
#
# It prints a section "@@ steps" with lines "ok STEP WORDS", "changed STEP WORDS" and "failed STEP WORDS", and ends with
# "@@ end". It looks at everything that could lock the admin out before it changes anything, and it takes nothing away:
# no password, no key of others, no setting of sshd.

LC_ALL=C
PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
export LC_ALL PATH
umask 022

have() { command -v "$1" >/dev/null 2>&1; }
ok() { echo "ok $*"; }
changed() { echo "changed $*"; }
failed() {
  echo "failed $*"
  printf '\n@@ end\n'
  exit 0
}
one_line() { tr '\n' ' ' | cut -c1-300; }

printf '\n@@ steps\n'
[ "$(id -u)" = 0 ] || failed root "the login user may not become root without a password"

# ---- What could go wrong is looked at first.

uid=$(id -u "$admin" 2>/dev/null)
if [ -n "$uid" ] && [ "$admin" != root ]; then
  if [ "$uid" = 0 ]; then failed user "$admin has the uid of root; take another name for the admin"; fi
  if [ "$uid" -lt 100 ]; then failed user "$admin is a user of the system (uid $uid); take another name for the admin"; fi
  shell=$(getent passwd "$admin" | cut -d: -f7)
  case $shell in
    */nologin | */false) failed user "$admin may not log in (its shell is $shell); take another name for the admin" ;;
  esac
fi
if [ -z "$uid" ] && getent group "$admin" >/dev/null; then group_exists=yes; else group_exists=; fi

groups_of() {
  if [ -n "$uid" ]; then id -Gn "$admin"; else echo "$admin"; fi
}
matches() { # NAMES PATTERNS: whether one of the names fits one of the patterns
  for name in $1; do
    for pattern in $2; do
      pattern=${pattern%%@*}
      # shellcheck disable=SC2254  # a pattern is what it is
      case $name in $pattern) return 0 ;; esac
    done
  done
  return 1
}
settings=
if have sshd; then
  [ -n "$dry" ] || mkdir -p /run/sshd
  settings=$(sshd -T -C "user=$admin,host=localhost,addr=127.0.0.1" 2>/dev/null || sshd -T 2>/dev/null)
fi
setting() { echo "$settings" | sed -n "s/^$1 //p" | tr '\n' ' '; }
set -f
if [ -n "$(setting allowusers)" ] && ! matches "$admin" "$(setting allowusers)"; then
  failed login "sshd lets only some users in (AllowUsers $(setting allowusers)), and $admin is none of them"
fi
if matches "$admin" "$(setting denyusers)"; then
  failed login "sshd keeps $admin out (DenyUsers $(setting denyusers))"
fi
if [ -n "$(setting allowgroups)" ] && ! matches "$(groups_of)" "$(setting allowgroups)"; then
  failed login "sshd lets only some groups in (AllowGroups $(setting allowgroups)), and $admin is in none of them"
fi
if matches "$(groups_of)" "$(setting denygroups)"; then
  failed login "sshd keeps a group of $admin out (DenyGroups $(setting denygroups))"
fi
set +f
case $(setting pubkeyauthentication) in no*) failed login "sshd takes no keys (PubkeyAuthentication no)" ;; esac
case $(setting authorizedkeysfile) in
  '' | *.ssh/authorized_keys\ * | *.ssh/authorized_keys) ;;
  *) failed login "sshd reads keys elsewhere (AuthorizedKeysFile $(setting authorizedkeysfile))" ;;
esac
if [ "$admin" = root ]; then
  case $(setting permitrootlogin) in no*) failed login "sshd lets root not in (PermitRootLogin no); name another --admin" ;; esac
fi
if [ "$admin" != root ] && have visudo && ! words=$(visudo -c 2>&1); then
  failed sudo "the host's own sudoers files are broken, nothing was added: $(echo "$words" | one_line)"
fi
for directory in /etc "$(getent passwd "$admin" | cut -d: -f6)"; do
  if [ -d "$directory" ] && [ ! -w "$directory" ]; then failed disk "$directory is read-only"; fi
done

# ---- Packages: Python for Ansible, and sudo.

python=
for candidate in /usr/bin/python3 /usr/bin/python3.13 /usr/bin/python3.12 /usr/bin/python3.11 /usr/bin/python3.10 \
  /usr/bin/python3.9 /usr/bin/python3.8 "$(command -v python3)"; do
  [ -x "$candidate" ] || continue
  version=$("$candidate" -c 'import platform; print(platform.python_version())' 2>/dev/null) || continue
  case $version in 3.[0-7].* | 2.*) ;; *) python="$candidate $version" && break ;; esac
done

ID='' VERSION_ID=''
# shellcheck disable=SC1091
[ -r /etc/os-release ] && . /etc/os-release
install() {
  if have apt-get; then
    # The lists of a fresh image are empty or old; old lists name packages that are gone.
    if ! { apt-get -o DPkg::Lock::Timeout=120 -q update && DEBIAN_FRONTEND=noninteractive \
      apt-get -o DPkg::Lock::Timeout=300 -q -y --no-install-recommends install "$@"; } >"$log" 2>&1; then return 1; fi
  elif have dnf; then
    dnf -q -y install "$@" >"$log" 2>&1
  elif have yum; then
    yum -q -y install "$@" >"$log" 2>&1
  elif have zypper; then
    zypper -q -n install "$@" >"$log" 2>&1
  else
    echo "no apt-get, dnf, yum or zypper" >"$log"
    return 1
  fi
}
python_package() {
  case $ID:${VERSION_ID%%.*} in
    *:8) if have dnf; then echo python39; else echo python3; fi ;;
    *) echo python3 ;;
  esac
}
wanted=
[ -n "$python" ] || wanted=$(python_package)
[ "$admin" = root ] || have sudo || wanted="$wanted sudo"
wanted=${wanted# }
if [ -z "$wanted" ]; then
  ok packages "Python ${python#* } is there"
elif [ -n "$dry" ]; then
  changed packages "would install $wanted"
else
  log=$(mktemp)
  # shellcheck disable=SC2086  # a list
  if install $wanted; then
    changed packages "installed $wanted"
  else
    words=$(grep -v '^$' "$log" | tail -n 3 | one_line)
    rm -f "$log"
    failed packages "cannot install $wanted: $words"
  fi
  rm -f "$log"
fi

# ---- The user, with its own home. No password: only the key opens it.

if [ -n "$uid" ]; then
  ok user "$admin is there"
elif [ -n "$dry" ]; then
  changed user "would make user $admin"
else
  shell=/bin/bash
  [ -x $shell ] || shell=/bin/sh
  # A group of that name may be there from a directory service or an earlier user.
  if words=$(useradd -m -s $shell ${group_exists:+-g "$admin"} "$admin" 2>&1); then
    # Not a locked account, which sshd without PAM refuses, and still no password.
    usermod -p '*' "$admin"
    changed user "made user $admin"
  else
    failed user "cannot make user $admin: $(echo "$words" | one_line)"
  fi
fi

# ---- The key. Written as the user: what lies in its home may lead anywhere.

as_admin() { # SCRIPT
  if [ "$admin" = root ]; then
    sh -c "$1"
  elif have runuser; then
    runuser -u "$admin" -- sh -c "$1"
  else
    su -s /bin/sh -c "$1" "$admin"
  fi
}
home=$(getent passwd "$admin" | cut -d: -f6)
export home public_key
body=$(echo "$public_key" | cut -d' ' -f2)
if [ -n "$home" ] && [ -r "$home/.ssh/authorized_keys" ] && grep -v '^[[:space:]]*#' "$home/.ssh/authorized_keys" | grep -qF -- "$body"; then
  ok key "the key is known"
elif [ -n "$dry" ]; then
  changed key "would add the key"
else
  [ -d "$home" ] || failed key "the home $home of $admin is not there"
  # shellcheck disable=SC2016  # the inner shell has these variables
  if words=$(as_admin '
    cd "$home" && mkdir -p .ssh && chmod 700 .ssh && touch .ssh/authorized_keys &&
    if [ -s .ssh/authorized_keys ] && [ -n "$(tail -c 1 .ssh/authorized_keys)" ]; then echo >>.ssh/authorized_keys; fi &&
    printf "%s\n" "$public_key" >>.ssh/authorized_keys && chmod 600 .ssh/authorized_keys' 2>&1); then
    if have restorecon; then restorecon -R "$home/.ssh" 2>/dev/null; fi
    changed key "added the key"
  else
    failed key "cannot write $home/.ssh/authorized_keys: $(echo "$words" | one_line)"
  fi
fi
if [ -z "$dry" ] && [ "$admin" != root ]; then
  # sshd takes no key below a directory that others can write to.
  mode=$(stat -c %a "$home" 2>/dev/null)
  case $mode in
    *[2367]? | *[2367]) echo "note key $home can be written by others (mode $mode); sshd may refuse its keys" ;;
  esac
fi

# ---- The sudo rule, checked by visudo before it counts.

if [ "$admin" = root ]; then
  printf '\n@@ end\n'
  exit 0
fi
rule="$admin ALL=(ALL:ALL) NOPASSWD: ALL"
# sudo passes over files with a dot in their name.
file=/etc/sudoers.d/hpcprov-$(echo "$admin" | tr . _)
may() { as_admin 'sudo -n true' >/dev/null 2>&1; }
if [ -n "$uid" ] && have sudo && may; then
  ok sudo "$admin may use sudo without a password"
elif [ -n "$dry" ]; then
  changed sudo "would write $file"
else
  [ -d /etc/sudoers.d ] || { mkdir -p /etc/sudoers.d && chmod 750 /etc/sudoers.d; }
  fresh=$(mktemp)
  printf '# Written by hpcprov bootstrap.\n%s\n' "$rule" >"$fresh"
  if ! words=$(visudo -cf "$fresh" 2>&1); then
    rm -f "$fresh"
    failed sudo "visudo refuses the rule: $(echo "$words" | one_line)"
  fi
  before=
  if [ -e "$file" ]; then
    before=$(mktemp)
    cat "$file" >"$before"
  fi
  chmod 440 "$fresh" && chown root:root "$fresh" && mv "$fresh" "$file"
  if have restorecon; then restorecon "$file" 2>/dev/null; fi
  if words=$(visudo -c 2>&1) && may; then
    [ -z "$before" ] || rm -f "$before"
    changed sudo "wrote $file"
  else
    # As it was: a rule that does not help only confuses.
    if [ -n "$before" ]; then mv "$before" "$file" && chmod 440 "$file"; else rm -f "$file"; fi
    why=$(as_admin 'sudo -n true' 2>&1 | one_line)
    failed sudo "the rule has no effect, and was taken back: ${why:-$words}"
  fi
fi
printf '\n@@ end\n'
