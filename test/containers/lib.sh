# What run.sh is made of: counting, an engine of its own, base images, questions to the server.
# shellcheck shell=bash disable=SC2034 # some of the variables are run.sh's

: "${CONTAINER_TEST_SECONDS:=900}" # after this the commands that take long are ended and count as failed
: "${CONTAINER_TEST_CACHE:=}"       # a folder that keeps the engine's images for the next run; none is kept without it
: "${NODE_IMAGE:=}" "${RUST_IMAGE:=}" "${RUNTIME_IMAGE:=}"

# What docker-compose.yml takes from the environment.
export CONTAINER_IMAGE=hostpool:test CONTAINER_MEMORY_LIMIT=2g HOSTPOOL_RESERVE=512MiB HOSTPOOL_LOG_LEVEL=info HOSTPOOL_PORT
export COMPOSE_PROJECT_NAME=hostpool-test DOCKER_BUILDKIT=0

work=
engine_pid=
container=
hugepages_before=
hugepages_set=
hugepages_made_folder=
passed_count=0
failed_count=0
skipped_count=0

trap clean_up EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

# --- counting ---------------------------------------------------------------------------------------------------------

step() { printf '\n# %s (%d s)\n' "$1" "$SECONDS"; }
note() { printf '#   %s\n' "$1"; }
passed() { passed_count=$((passed_count + 1)); printf 'ok      %s\n' "$1"; }
failed() { failed_count=$((failed_count + 1)); printf 'not ok  %s\n' "$1"; }
skipped() { skipped_count=$((skipped_count + 1)); printf 'skipped: %s\n' "$1"; }

# check SENTENCE COMMAND...: passes when the command succeeds; 77 means that it has counted itself as skipped.
check() {
  local sentence=$1 output status=0
  shift
  if [[ $(type -t "$1") == function ]]; then
    "$@" >"$work/check.log" 2>&1 || status=$?
  else
    limited "$@" >"$work/check.log" 2>&1 || status=$?
  fi
  output=$(cat "$work/check.log")
  case $status in
    0) passed "$sentence" ;;
    77) printf '%s\n' "$output" ;;
    *)
      failed "$sentence"
      printf '        %s\n' "${output//$'\n'/$'\n        '}"
      ;;
  esac
}

contains() { [[ $1 == *"$2"* ]] || { printf 'wanted: %s\nin: %s\n' "$2" "$1"; return 1; }; }
equals() { [[ $1 == "$2" ]] || { printf 'wanted: %s\ngot: %s\n' "$1" "$2"; return 1; }; }
below() { if [[ ! $1 =~ ^[0-9]+$ ]] || (($1 >= $2)); then printf 'wanted less than: %s\ngot: %s\n' "$2" "$1"; return 1; fi; }
fails() { ! "$@"; }

finish() {
  printf '\n%d passed, %d failed' "$passed_count" "$failed_count"
  ((skipped_count == 0)) || printf ', %d skipped' "$skipped_count"
  printf '\n'
  ((failed_count == 0)) && exit 0
  exit 1
}

# Nothing can be checked here at all.
skip_all() {
  printf 'SKIPPED: %s\n' "$1"
  exit 0
}

# limited COMMAND...: ends it when the time of the whole run is over.
limited() {
  local left=$((CONTAINER_TEST_SECONDS - SECONDS))
  timeout --kill-after=10 "$((left > 5 ? left : 5))" "$@"
}

# --- the engine -------------------------------------------------------------------------------------------------------

require_root() { ((EUID == 0)) || skip_all 'a Docker engine of its own needs root'; }

# install_packages COMMAND:PACKAGE...: installs what is missing.
install_packages() {
  step 'packages'
  local pair missing=()
  for pair in "$@"; do command -v "${pair%%:*}" >/dev/null || missing+=("${pair#*:}"); done
  ((${#missing[@]} > 0)) || return 0
  command -v apt-get >/dev/null || skip_all "not installed, and there is no apt-get: ${missing[*]}"
  note "installing ${missing[*]}"
  export DEBIAN_FRONTEND=noninteractive
  { limited apt-get update -qq && limited apt-get install -y -qq --no-install-recommends -o DPkg::Lock::Timeout=120 "${missing[@]}"; } \
    >/tmp/hostpool-apt.$$ 2>&1 || { tail -3 /tmp/hostpool-apt.$$; rm -f /tmp/hostpool-apt.$$; skip_all "apt-get cannot install ${missing[*]}"; }
  rm -f /tmp/hostpool-apt.$$
}

# No bridge and no firewall rules: everything here uses the host's network or none.
start_engine() {
  step 'the engine'
  work=$(mktemp -d /tmp/hostpool-containers.XXXXXX)
  export DOCKER_HOST=unix://$work/docker.sock DOCKER_CONFIG=$work/config
  dockerd --data-root "${CONTAINER_TEST_CACHE:-$work/data}" --exec-root "$work/exec" --host "$DOCKER_HOST" --pidfile "$work/dockerd.pid" \
    --bridge none --iptables=false --ip-forward=false >"$work/dockerd.log" 2>&1 </dev/null &
  engine_pid=$!
  local tries
  for ((tries = 0; tries < 150; tries++)); do
    if docker version >/dev/null 2>&1; then
      note "$(docker version --format 'client {{.Client.Version}}, engine {{.Server.Version}}'), $(docker-compose version --short 2>/dev/null)"
      HOSTPOOL_PORT=$(free_port)
      return 0
    fi
    kill -0 "$engine_pid" 2>/dev/null || break
    sleep 0.2
  done
  tail -5 "$work/dockerd.log"
  skip_all 'dockerd does not start here'
}

clean_up() {
  local status=$?
  trap - EXIT
  set +e
  if [[ -n $engine_pid ]] && kill -0 "$engine_pid" 2>/dev/null; then
    docker ps --all --quiet 2>/dev/null | xargs --no-run-if-empty docker rm --force >/dev/null 2>&1
    kill "$engine_pid"
    wait "$engine_pid"
  fi
  restore_hugepages
  unmount_hugetlbfs
  if [[ -n $work ]]; then
    awk -v below="$work/" -v cache="${CONTAINER_TEST_CACHE:-$work}/" \
      'index($2, below) == 1 || index($2, cache) == 1 { print $2 }' /proc/mounts | sort -r | xargs --no-run-if-empty umount
    rm -rf "$work"
  fi
  exit "$status"
}

# --- base images ------------------------------------------------------------------------------------------------------

# Stand-ins for the images that the Dockerfile names, laid out alike: Debian by mmdebstrap, this machine's own Node and
# Rust, and the certificates that this machine trusts (its registries may be reached through a proxy).
make_base_images() {
  [[ -z $NODE_IMAGE || -z $RUST_IMAGE || -z $RUNTIME_IMAGE ]] || return 0
  step 'base images'
  NODE_IMAGE=stand-in/node RUST_IMAGE=stand-in/rust RUNTIME_IMAGE=stand-in/debian
  if docker image inspect "$NODE_IMAGE" "$RUST_IMAGE" "$RUNTIME_IMAGE" >/dev/null 2>&1; then return; fi
  local tree=$work/tree node npm rust
  node=$(readlink -f "$(command -v node)")
  npm=$(npm root --global)/npm
  rust=$(rustc --print sysroot)
  limited mmdebstrap --quiet --variant=minbase --dpkgopt=force-unsafe-io --dpkgopt='path-exclude=/usr/share/doc/*' \
    --dpkgopt='path-exclude=/usr/share/locale/*' --dpkgopt='path-exclude=/usr/share/man/*' \
    bookworm "$work/debian.tar" >"$work/debian.log" 2>&1 ||
    { tail -3 "$work/debian.log"; skip_all 'mmdebstrap cannot make a Debian base'; }
  docker import "$work/debian.tar" "$RUNTIME_IMAGE" >/dev/null
  rm "$work/debian.tar"

  mkdir -p "$tree"/{node/files/bin,node/files/lib/node_modules,rust/files}
  cp "$node" "$tree/node/files/bin/node"
  cp -r "$npm" "$tree/node/files/lib/node_modules/npm"
  tar -C "$rust" -cf - --exclude=lib/rustlib/src bin lib | tar -C "$tree/rust/files" -xf -
  build_stand_in node "$NODE_IMAGE"
  build_stand_in rust "$RUST_IMAGE"
  rm -r "$tree"
}

build_stand_in() {
  cp /etc/ssl/certs/ca-certificates.crt "$tree/$1/"
  cp "test/containers/stand-ins/$1.Dockerfile" "$tree/$1/Dockerfile"
  limited docker build --quiet --network host --build-arg DEBIAN_IMAGE="$RUNTIME_IMAGE" --tag "$2" "$tree/$1" \
    >"$work/stand-in.log" 2>&1 || { tail -5 "$work/stand-in.log"; skip_all "a stand-in for the $1 image cannot be made"; }
}

# --- compose and the server -------------------------------------------------------------------------------------------

compose() { limited docker-compose --file docker-compose.yml "$@"; }

free_port() { node -e 'const s = net.createServer().listen(0, "127.0.0.1", () => { console.log(s.address().port); s.close(); })'; }

pid_of() { docker inspect --format '{{.State.Pid}}' "$1"; }

becomes_healthy() {
  local deadline=$((SECONDS + 60)) state
  until state=$(docker inspect --format '{{.State.Health.Status}}' "$1") && [[ $state == healthy ]]; do
    if ((SECONDS >= deadline)); then
      echo "state: $state"
      docker logs --tail 20 "$1"
      return 1
    fi
    sleep 0.3
  done
}

# ask OPERATION PATH: what the answer holds at the path.
ask() { limited node test/containers/ask.mjs "http://127.0.0.1:$HOSTPOOL_PORT/graphql" "$1" "$2"; }

# field JSON NAME: a field of a JSON object.
field() { node -e 'const v = JSON.parse(process.argv[1])[process.argv[2]]; console.log(typeof v === "object" ? JSON.stringify(v) : v)' "$1" "$2"; }

# pool NAME PAGES MEMORY [OTHER]: an operation that makes a V4 pool of PAGES times 64 KiB in one mapping.
pool() {
  printf 'mutation { createV4PagedPool(input: { name: "%s", layerNum: 4, numHostPages: %d, itemBytes: 16384, slotPageSize: 16,
    layout: PAGE_FIRST, memory: { %s }, %s }) { __typename
    ... on V4PagedHostPool { state memory { actualBacking mappedBytes bytesByNode { node bytes } } }
    ... on HostPoolError { message remedies { summary field value } }
    ... on InsufficientHostMemory { limitedBy availableBytes }
    ... on HostBufferAllocationFailed { reason errnoName } } }' "$1" "$2" "${3:-prefault: true}" "${4:-wait: true}"
}

# --- hugepages --------------------------------------------------------------------------------------------------------

hugepages_free() { awk '$1 == "HugePages_Free:" { print $2 }' /proc/meminfo; }

# want_hugepages COUNT: sets that many more for the run; none of the checks that need them runs where the kernel has none.
want_hugepages() {
  local free
  free=$(hugepages_free)
  hugepages_before=$(cat /proc/sys/vm/nr_hugepages)
  if ! echo $((hugepages_before + $1)) 2>/dev/null >/proc/sys/vm/nr_hugepages || (($(hugepages_free) < free + $1)); then
    restore_hugepages
    skipped 'hugepages: the kernel does not hand out any here'
    return 1
  fi
  hugepages_set=$(hugepages_free)
}

# docker-compose.yml mounts /dev/hugepages, which not every machine has.
mount_hugetlbfs() {
  [[ ! -e /dev/hugepages ]] || return 0
  mkdir /dev/hugepages
  hugepages_made_folder=yes
  mount -t hugetlbfs none /dev/hugepages || note '/dev/hugepages cannot be mounted here'
}

unmount_hugetlbfs() {
  if [[ -z $hugepages_made_folder ]]; then return; fi
  umount /dev/hugepages
  rmdir /dev/hugepages
}

restore_hugepages() {
  [[ -z $hugepages_before ]] || echo "$hugepages_before" 2>/dev/null >/proc/sys/vm/nr_hugepages
  hugepages_before=
}
