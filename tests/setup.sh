#!/usr/bin/env bash
# Install what the control host needs: container tools from the distribution, hpcprov in a virtual environment.
set -euo pipefail
venv=$1
root=$(cd "$(dirname "$0")/.." && pwd)

missing=()
for tool in podman runc mmdebstrap ssh ip; do
  command -v "$tool" >/dev/null || missing+=("$tool")
done
python3 -c 'import ensurepip, venv' 2>/dev/null || missing+=(python3-venv)
if ((${#missing[@]})); then
  if [[ $(id -u) != 0 ]] || ! command -v apt-get >/dev/null; then
    echo "missing on this machine: ${missing[*]}. Install podman, runc, mmdebstrap, openssh-client, iproute2 and" \
      "python3-venv, or run this as root on Debian or Ubuntu." >&2
    exit 4
  fi
  echo "setup: installing ${missing[*]}"
  export DEBIAN_FRONTEND=noninteractive
  apt-get -o DPkg::Lock::Timeout=600 update -qq
  apt-get -o DPkg::Lock::Timeout=600 install -y -qq --no-install-recommends podman runc mmdebstrap netavark \
    aardvark-dns iptables nftables iproute2 openssh-client python3-venv ca-certificates debian-archive-keyring >/dev/null
fi

echo "setup: installing hpcprov and its tools into $venv"
[[ -x $venv/bin/python ]] || python3 -m venv "$venv"
"$venv/bin/python" -m pip install -qq --disable-pip-version-check --editable "$root[dev]"
