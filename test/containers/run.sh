#!/usr/bin/env bash
# shellcheck disable=SC2317 # check calls functions by name
# Builds the image, runs it with docker-compose as docker-compose.yml says, and checks what docs/containers.md promises.
#
# It starts a Docker engine of its own (below a temporary folder, without a bridge or firewall rules) and ends it again, so
# it needs root; where no engine or base image can be had it prints `SKIPPED: reason` and succeeds. Base images are made
# from Debian's packages and this machine's own Node and Rust, so no image registry is needed. The last line is the total.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
# shellcheck source=test/containers/lib.sh
source test/containers/lib.sh

main() {
  require_root
  install_packages dockerd:docker.io docker-compose:docker-compose mmdebstrap:mmdebstrap
  start_engine
  make_base_images
  build_image

  check_compose_file
  check_image
  check_refusal_beyond_loopback
  check_compose_run
  check_without_sys_nice
  finish
}

build_image() {
  step 'building the image'
  limited docker build --network host --tag "$CONTAINER_IMAGE" \
    --build-arg NODE_IMAGE="$NODE_IMAGE" --build-arg RUST_IMAGE="$RUST_IMAGE" --build-arg RUNTIME_IMAGE="$RUNTIME_IMAGE" \
    . >"$work/build.log" 2>&1 || { tail -40 "$work/build.log"; failed 'the image builds'; finish; }
  passed 'the image builds'
  note "image: $(docker image inspect --format '{{.Size}}' "$CONTAINER_IMAGE") bytes"
}

check_compose_file() {
  step 'docker-compose.yml'
  check 'docker-compose accepts the file' compose config -q
  check 'docker compose (v2) accepts the file' compose_v2_accepts
}

# Only where the plugin is installed.
compose_v2_accepts() {
  docker compose version >/dev/null 2>&1 || { skipped 'docker compose (v2) is not installed'; return 77; }
  docker compose config -q
}

check_image() {
  step 'the image'
  local config
  config=$(docker image inspect --format '{{json .Config}}' "$CONTAINER_IMAGE")
  check 'runs as a user that is not root' contains "$config" '"User":"10001:10001"'
  check 'asks for SIGTERM' contains "$config" '"StopSignal":"SIGTERM"'
  check 'starts node itself, no shell' contains "$config" '"Entrypoint":["node","dist/main.js"]'
  check 'names itself in its labels' contains "$config" '"org.opencontainers.image.title":"hostpool"'
  check 'carries no build tools' docker run --rm --network none --entrypoint sh "$CONTAINER_IMAGE" \
    -c '! command -v cargo && ! command -v npm && ! test -e /app/src && ! test -e /app/node_modules/typescript'
  check 'prints its help' contains "$(docker run --rm --network none "$CONTAINER_IMAGE" --help)" HOSTPOOL_RESERVE
}

check_refusal_beyond_loopback() {
  step 'beyond loopback'
  local output status=0
  output=$(docker run --rm --network none --env HOSTPOOL_ADDRESS=0.0.0.0 "$CONTAINER_IMAGE" 2>&1) || status=$?
  check 'refuses to listen on 0.0.0.0, and says why' contains "$status $output" '2 hostpool: HOSTPOOL_ADDRESS: must be a loopback'
}

check_compose_run() {
  step 'docker-compose up'
  mount_hugetlbfs
  compose down --volumes >/dev/null 2>&1
  compose up --no-build --detach >/dev/null 2>"$work/compose.log" || { cat "$work/compose.log"; failed 'docker-compose up'; return; }
  container=$(compose ps --quiet hostpool)
  check 'becomes healthy' becomes_healthy "$container"
  check_process
  check_doctor
  check_limit
  check_pools
  check_restart
  check_stop
}

check_process() {
  step 'the process'
  local pid status
  pid=$(pid_of "$container")
  status=$(cat "/proc/$pid/status")
  check 'process 1 is node' contains "$(tr '\0' ' ' <"/proc/$pid/cmdline")" 'node dist/main.js'
  check 'its uid is not 0' contains "$status" $'Uid:\t10001\t10001\t10001\t10001'
  check 'it has no capability in effect' contains "$status" $'CapEff:\t0000000000000000'
  check 'it could have SYS_NICE and no other' contains "$status" $'CapBnd:\t0000000000800000'
  check 'it cannot gain privileges' contains "$status" $'NoNewPrivs:\t1'
  check 'it is under a seccomp filter' contains "$status" $'Seccomp:\t2'
  note "resident: $(awk '$1 == "VmRSS:" { print $2, $3 }' "/proc/$pid/status")"
  check 'it listens on loopback only' listens_on_loopback_only
  check 'its file system is read-only' fails docker exec "$container" node -e 'fs.writeFileSync("/app/x", "")'
}

# /proc/net/tcp and tcp6 print addresses in host order and hexadecimal: 0100007F is 127.0.0.1.
listens_on_loopback_only() {
  local port listening
  port=$(printf '%04X' "$HOSTPOOL_PORT")
  listening=$(awk -v port=":$port$" '$2 ~ port && $4 == "0A" { print $2 }' /proc/net/tcp /proc/net/tcp6)
  [[ $listening == "0100007F:$port" ]] || { echo "listening: $listening"; return 1; }
}

check_doctor() {
  step 'hostpool doctor'
  local report
  report=$(doctor --json --numa-node 0)
  check 'asks the server, and finds nothing in the way' contains "$report" '"canMeet": true'
  check 'finds that binds are allowed' contains "$(finding "$report" numa-bind)" '"severity":"OK"'
  check 'finds the limit of the container' contains "$(finding "$report" memory-limit)" 'of 2 GiB are left'
}

doctor() {
  docker exec "$container" node dist/main.js doctor "$@"
}

# The finding of a report that has this id.
finding() {
  node -e 'const { findings } = JSON.parse(process.argv[1]); console.log(JSON.stringify(findings.find(({ id }) => id === process.argv[2])))' "$1" "$2"
}

check_limit() {
  step 'the memory limit'
  local limit=$((2 * 1024 ** 3)) reserve=$((512 * 1024 ** 2))
  check 'host.cgroup has the limit of the container' equals "$limit" "$(ask '{host{cgroup{limit}}}' data.host.cgroup.limit)"
  local available
  available=$(ask '{host{effectiveAvailable}}' data.host.effectiveAvailable)
  check 'what is available is below the limit' below "$available" "$limit"
  local refused
  refused=$(ask "$(pool too-large 30720 '')" data.createV4PagedPool)
  check 'a pool above limit - reserve is refused, limited by CGROUP' contains "$refused" '"limitedBy":"CGROUP"'
  check 'its availableBytes leave the reserve' below "$(field "$refused" availableBytes)" $((limit - reserve))
  note "refused: $(field "$refused" message)"
}

check_pools() {
  step 'pools'
  check 'a pool on memfd pages is READY' contains "$(ask "$(pool plain 1024 '')" data.createV4PagedPool)" '"state":"READY"'
  local bound
  bound=$(ask "$(pool bound 1024 'numaNode: 0')" data.createV4PagedPool)
  check 'a pool bound to node 0 is READY' contains "$bound" '"state":"READY"'
  check 'its bytes are on node 0' contains "$bound" '"bytesByNode":[{"node":0,"bytes":67108864}]'
  check 'the kernel says so too' contains "$(cat "/proc/$(pid_of "$container")/numa_maps")" 'bind:0'
  check_hugepages
}

check_hugepages() {
  want_hugepages 64 || return 0
  local free buffer
  free=$(hugepages_free)
  buffer=$(ask 'mutation { allocateHostBuffer(input: { name: "huge", nbytes: "64MiB", memory: { backing: ANONYMOUS_SHM_HUGETLB } }) {
    __typename ... on HostBuffer { state memory { actualBacking hugepageSize } } ... on HostPoolError { message } } }' data.allocateHostBuffer)
  check 'a buffer on hugepages is READY' contains "$buffer" '"state":"READY"'
  check 'it is on hugepages of 2 MiB' contains "$buffer" '"actualBacking":"ANONYMOUS_SHM_HUGETLB","hugepageSize":2097152'
  check 'the kernel gave 32 hugepages' equals $((free - 32)) "$(hugepages_free)"
  check 'a V4 pool on private hugepages bound to node 0 is READY' contains \
    "$(ask "$(pool huge-pool 512 'backing: ANONYMOUS_HUGETLB, numaNode: 0')" data.createV4PagedPool)" '"state":"READY"'
  local short
  short=$(ask "$(pool huge-short 16384 'backing: ANONYMOUS_HUGETLB')" data.createV4PagedPool)
  check 'more hugepages than there are: limited by HUGEPAGES' contains "$short" '"limitedBy":"HUGEPAGES"'
}

check_restart() {
  step 'a crash'
  local before pools budget='mutation { createBudget(input: { name: "kept", requestedBytes: 4096 }) { __typename } }'
  before=$(pid_of "$container")
  check 'a budget is made' contains "$(ask "$budget" data.createBudget)" '"Budget"'
  pools=$(ask '{pools{id name}}' data.pools)
  kill -KILL "$before"
  check 'it is started again and becomes healthy' restarted "$before"
  check 'the budget is there again' equals 4096 "$(ask '{budget(name: "kept"){requestedBytes}}' data.budget.requestedBytes)"
  check 'its pools are there again' equals "$pools" "$(ask '{pools{id name}}' data.pools)"
}

restarted() {
  local deadline=$((SECONDS + 60)) pid
  until pid=$(pid_of "$container") && [[ $pid != 0 && $pid != "$1" ]]; do
    ((SECONDS < deadline)) || return 1
    sleep 0.2
  done
  becomes_healthy "$container"
}

check_stop() {
  step 'docker-compose stop'
  ask "$(pool kept 4096 '')" data.createV4PagedPool >/dev/null
  if [[ -n $hugepages_before ]]; then ask "$(pool kept-huge 512 'backing: ANONYMOUS_SHM_HUGETLB')" data.createV4PagedPool >/dev/null; fi
  local pid kept under_way log started=$SECONDS
  pid=$(pid_of "$container")
  kept=$(ask '{pools{... on V4PagedHostPool{memory{mappedBytes}}}}' data.pools)
  under_way=$(ask "$(pool under-way 8192 '' 'wait: false')" data.createV4PagedPool)
  check 'a pool is under way' contains "$under_way" '"state":"'
  compose stop >/dev/null 2>&1
  log=$(docker logs "$container" 2>&1 | sed -n '/"shutting down"/,$p')
  check 'it ends with 0, and not for lack of memory' equals '0 false' \
    "$(docker inspect --format '{{.State.ExitCode}} {{.State.OOMKilled}}' "$container")"
  check 'it ends long before stop_grace_period' below $((SECONDS - started)) 30
  check 'it was told by SIGTERM' contains "$log" '"signal":"SIGTERM"'
  check 'its last line says what it released' contains "$(tail -1 <<<"$log")" '"msg":"shut down"'
  note "mapped before: $kept; log: $(tail -1 <<<"$log")"
  check 'the process and its mappings are gone' fails test -e "/proc/$pid/maps"
  if [[ -n $hugepages_before ]]; then check 'every hugepage is free again' equals "$hugepages_set" "$(hugepages_free)"; fi
  compose down --volumes >/dev/null 2>&1
}

check_without_sys_nice() {
  step 'without SYS_NICE'
  container=$(docker run --detach --network host --cap-drop ALL --security-opt no-new-privileges --memory 2g \
    --env HOSTPOOL_PORT="$HOSTPOOL_PORT" --env HOSTPOOL_RESERVE="$HOSTPOOL_RESERVE" "$CONTAINER_IMAGE")
  check 'becomes healthy' becomes_healthy "$container"
  local denied
  denied=$(ask "$(pool bound 1024 'numaNode: 0')" data.createV4PagedPool)
  check 'a bind is refused as NUMA_BIND_DENIED' contains "$denied" '"reason":"NUMA_BIND_DENIED"'
  check 'with the errno of the kernel' contains "$denied" '"errnoName":"EPERM"'
  note "remedies: $(field "$denied" remedies)"
  check_doctor_without_sys_nice
  local plain
  plain=$(ask "$(pool plain 1024 '')" data.createV4PagedPool)
  check 'a pool without a node is READY' contains "$plain" '"state":"READY"'
  note "where it lies: $(field "$plain" memory)"
  docker stop --time 60 "$container" >/dev/null
  check 'it ends with 0' equals 0 "$(docker inspect --format '{{.State.ExitCode}}' "$container")"
}

check_doctor_without_sys_nice() {
  local report status=0
  report=$(doctor --json)
  check 'doctor finds that binds are refused' contains "$(finding "$report" numa-bind)" 'mbind is refused with EPERM'
  check 'and how to allow them' contains "$(finding "$report" numa-bind)" 'cap_add: [SYS_NICE]'
  check 'which is in the way of no configured wish' contains "$report" '"canMeet": true'
  doctor --numa-node 0 >"$work/doctor.log" || status=$?
  check 'a wish that binds cannot be met: exit code 1' equals 1 "$status"
  check 'and is named' contains "$(tail -1 "$work/doctor.log")" 'Cannot be met: the wish.'
  note "$(grep numa-bind "$work/doctor.log")"
}

main "$@"
