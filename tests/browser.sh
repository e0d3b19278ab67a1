#!/usr/bin/env bash
# Install what the browser test of the report needs: a headless Chromium from the distribution, and Playwright to drive it.
set -euo pipefail
venv=$1
root=$(cd "$(dirname "$0")/.." && pwd)

found=
for browser in chromium-headless-shell chromium chromium-browser google-chrome; do
  if command -v "$browser" >/dev/null; then found=$browser; fi
done
if [[ -z $found ]]; then
  if [[ $(id -u) != 0 ]] || ! command -v apt-get >/dev/null; then
    echo "missing on this machine: a Chromium. Install one, or run this as root on Debian." >&2
    exit 4
  fi
  echo "setup: installing chromium-headless-shell"
  export DEBIAN_FRONTEND=noninteractive
  apt-get -o DPkg::Lock::Timeout=600 update -qq
  apt-get -o DPkg::Lock::Timeout=600 install -y -qq --no-install-recommends chromium-headless-shell fonts-dejavu-core \
    >/dev/null
fi
"$venv/bin/python" -m pip install -qq --disable-pip-version-check --editable "$root[browser]"
