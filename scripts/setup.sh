#!/usr/bin/env bash
# Prepares what a make target needs: `scripts/setup.sh python [EXTRAS] | web | chromium | databases | networks`. Safe to run again.
set -euo pipefail
cd "$(dirname "$0")/.."
mkdir -p .make

say() { printf '\033[1m== %s\033[0m\n' "$1"; }
stop() {
  printf '\n%s\n' "$1" >&2
  exit 1
}

as_root() {
  if [ "$(id -u)" = 0 ]; then
    "$@"
  elif command -v sudo >/dev/null; then
    sudo "$@"
  else
    stop "This needs administrator rights. Ask for: $*"
  fi
}

apt_install() {
  command -v apt-get >/dev/null || stop "Please install $* with your system's package manager, then run make again."
  say "Installing $* from the system's packages"
  as_root env DEBIAN_FRONTEND=noninteractive apt-get update -qq ||
    stop "apt-get update failed. Check the network connection, then run make again."
  as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq "$@" >/dev/null ||
    stop "apt-get could not install $*. Its message above says why; mend that, then run make again."
}

find_python() {
  local candidate
  for candidate in "${PYTHON:-}" python3.11 python3.12 python3; do
    [ -n "$candidate" ] || continue
    if "$candidate" -c 'import sys; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 12))' 2>/dev/null; then
      command -v "$candidate"
      return
    fi
  done
  stop "Minga needs Python 3.11 or 3.12. Install one (on Debian: apt-get install python3 python3-venv) or name it: make PYTHON=/path/to/python3.11"
}

setup_python() {
  local extras=$1 stamp=".make/python-$1" python
  if [ "$stamp" -nt pyproject.toml ] && [ "$stamp" -nt constraints.txt ] && [ -x .venv/bin/minga ]; then
    return
  fi
  # The developer's environment holds everything that the user's does.
  if [ "$extras" = all ] && [ .make/python-dev -nt pyproject.toml ] && [ .make/python-dev -nt constraints.txt ] &&
    [ -x .venv/bin/minga ]; then
    return
  fi
  python=$(find_python)
  if [ ! -x .venv/bin/pip ]; then
    say "Creating the Python environment .venv"
    if ! "$python" -c 'import ensurepip' 2>/dev/null; then
      apt_install "python$("$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])')-venv"
    fi
    "$python" -m venv .venv || stop "Could not create .venv; remove that folder and run make again."
  fi
  say "Installing Python packages (TensorFlow is among them: about 1 GB, some minutes the first time)"
  .venv/bin/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable ".[$extras]" ||
    stop "pip could not install the packages. Check network and free disk space (4 GB), then run make again."
  touch "$stamp"
}

setup_web() {
  command -v node >/dev/null || stop "Minga's pages are built with Node.js 20.19 or newer: install it from your system or https://nodejs.org, then run make again."
  node -e 'const [a, b] = process.versions.node.split(".").map(Number); process.exit(a > 20 || (a === 20 && b >= 19) ? 0 : 1)' ||
    stop "Node.js $(node --version) is too old for Minga's pages: install 20.19 or newer, then run make again."
  if [ ! .make/node -nt package-lock.json ]; then
    say "Installing the web app's packages"
    npm ci --no-fund --no-audit --loglevel=error ||
      stop "npm could not install the packages. Check the network connection, then run make again."
    touch .make/node
  fi
  if [ ! .make/web -nt package-lock.json ] || [ ! -d webapp/static/dist ] ||
    [ -n "$(find webapp/static/src vite.config.ts vite.kernels.ts -newer .make/web -print -quit)" ]; then
    say "Building the web app"
    npm run --silent build || stop "The web app did not build; the message above says where."
    touch .make/web
  fi
}

setup_chromium() {
  local name driver found=
  for name in chromium chromium-browser google-chrome; do
    if command -v "$name" >/dev/null; then found=$name; fi
  done
  if [ -z "$found" ]; then apt_install chromium; fi
  # Playwright brings its own Node.js, which needs a library that small systems lack.
  for driver in .venv/lib/python3.*/site-packages/playwright/driver/node; do
    if [ -x "$driver" ] && ! "$driver" --version >/dev/null 2>&1; then apt_install libatomic1; fi
  done
}

# Tests start a Redis and a PostgreSQL of their own. What the system's packages start of them stays idle.
setup_databases() {
  local missing=
  if ! command -v redis-server >/dev/null; then missing=redis-server; fi
  if ! command -v initdb >/dev/null && ! compgen -G '/usr/lib/postgresql/*/bin/initdb' >/dev/null; then
    missing="$missing postgresql"
  fi
  if [ -z "$missing" ]; then return; fi
  # shellcheck disable=SC2086 # Several packages are several words.
  if command -v apt-get >/dev/null && (apt_install $missing); then
    say "Installed for tests: $missing. Their own services are not needed: systemctl disable --now redis-server postgresql"
  elif [ -n "${CI:-}" ]; then
    stop "Tests of databases need Redis and PostgreSQL: install them (on Debian: apt-get install redis-server postgresql)."
  else
    say "Tests of databases are left out: install Redis and PostgreSQL for them (on Debian: apt-get install redis-server postgresql)"
  fi
}

# Tests between machines make networks of namespaces, which takes root; without it they are left out.
setup_networks() {
  local program missing=
  for program in ip tc turnserver; do
    if ! command -v "$program" >/dev/null; then missing=yes; fi
  done
  if [ -z "$missing" ]; then return; fi
  if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null; then
    say "Tests on networks of their own are left out: they need Linux, root, iproute2 and coturn"
    return
  fi
  say "Installing iproute2 and coturn from the system's packages"
  apt-get update -qq && env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq iproute2 coturn >/dev/null ||
    say "They could not be installed: tests on networks of their own are left out"
}

case "${1:-}" in
  python) setup_python "${2:-all}" ;;
  web) setup_web ;;
  chromium) setup_chromium ;;
  databases) setup_databases ;;
  networks) setup_networks ;;
  *) stop "usage: scripts/setup.sh python [EXTRAS] | web | chromium | databases | networks" ;;
esac
