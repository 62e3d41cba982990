# The Debian packages (bookworm and trixie) that walrelay needs, by purpose. Sourced by tests/run and deploy/quickstart.
# shellcheck shell=bash disable=SC2034

packages_build=(
  build-essential cmake ninja-build pkg-config
  libpq-dev librdkafka-dev libsimdjson-dev libfmt-dev libtomlplusplus-dev libcli11-dev
  prometheus-cpp-dev libcpp-httplib-dev libssl-dev zlib1g-dev libbrotli-dev
)
packages_servers=(postgresql patchelf util-linux curl)
packages_kafka=(default-jdk-headless maven)
packages_librdkafka=(libssl-dev libsasl2-dev zlib1g-dev libzstd-dev liblz4-dev)  # to build it
packages_demo=(kcat)
packages_operations=(prometheus systemd zsh fish groff-base dpkg-dev python3-yaml)  # to test what is in deploy/
packages_examples=(python3-confluent-kafka python3-psycopg libpostgresql-jdbc-java)
packages_browser=(chromium)  # to look at the status page
packages_chroot=(mmdebstrap)
packages_tests=(catch2 git iproute2 openssl python3 procps valgrind)
packages_clang=(clang-19 clang-tidy-19 clang-format-19 libclang-rt-19-dev)

# install_packages NAME...: installs those that are missing; silent and quick when none is. Needs root or sudo only for that.
install_packages() {
  local name missing=() as_root=() log
  for name; do
    [ "$(dpkg-query -W -f '${db:Status-Status}' "$name" 2>/dev/null)" = installed ] || missing+=("$name")
  done
  [ ${#missing[@]} -gt 0 ] || return 0
  if [ "$(id -u)" -ne 0 ]; then
    command -v sudo >/dev/null || {
      echo "not root and no sudo; please install: ${missing[*]}" >&2
      return 1
    }
    as_root=(sudo)
  fi
  echo "installing: ${missing[*]}"
  log=$(mktemp)
  if ! { "${as_root[@]}" apt-get -qq -o Acquire::Retries=3 update &&
    "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -qq -y -o Acquire::Retries=3 --no-install-recommends \
      install "${missing[@]}"; } >"$log" 2>&1 </dev/null; then
    cat "$log" >&2
    rm -f "$log"
    return 1
  fi
  rm -f "$log"
}
