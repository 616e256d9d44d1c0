import type { Step } from './finding.js';
import type { Container } from './look.js';
import { pageSize, shellWord, shortPageSize } from './words.js';

const SYSCTL_FILE = '/etc/sysctl.d/90-hostpool.conf';
const UNIT_FILE = '/etc/systemd/system/hostpool.service.d/90-limits.conf';
const GRUB_FILE = '/etc/default/grub';
const UNDER_SYSTEMD = 'Under systemd, below [Service]; then sudo systemctl daemon-reload';

/** Something to do that no command does. */
export function act(summary: string): Step {
  return { summary };
}

/** A command, and when to run it. */
export function run(summary: string, command: string): Step {
  return { summary, command };
}

/** A line for a file, or for a command that is written elsewhere, and why. */
export function put(summary: string, file: string, line: string): Step {
  return { summary, file, line };
}

/** Sets a sysctl now and at each boot. In a container it is the host's to set. */
export function sysctl(name: string, value: number): Step[] {
  return [
    run('Now, on the host', `sudo sysctl -w ${name}=${value}`),
    put('At each boot', SYSCTL_FILE, `${name} = ${value}`),
  ];
}

/** Sets a file below /sys now; the kernel forgets it at a boot. */
export function sysfs(file: string, value: string): Step {
  return run('Now, on the host', `echo ${value} | sudo tee ${file}`);
}

/** Gives the process a capability, however it is run. */
export function capability(name: string, container: Container | undefined): Step[] {
  const pod = put(
    'In Kubernetes',
    'the pod spec, of the container',
    `securityContext: { capabilities: { add: [${name}] } }`,
  );
  if (container === 'kubernetes') return [pod];
  if (container === undefined)
    return [put(UNDER_SYSTEMD, UNIT_FILE, `AmbientCapabilities=CAP_${name}`), act('Or run it as root.')];
  return [
    put('In Docker or podman', 'docker run', `--cap-add ${name}`),
    put('In Compose', 'docker-compose.yml', `cap_add: [${name}]`),
    pod,
  ];
}

/** A limit of a process, as systemd, Docker and a shell call it. */
const LIMITS = {
  LimitMEMLOCK: { name: 'memlock', shell: '-l', unit: 1024 },
  LimitNOFILE: { name: 'nofile', shell: '-n', unit: 1 },
} as const;

/** Raises a limit of the process, for its next start. */
export function processLimit(limit: keyof typeof LIMITS, value: number, container: Container | undefined): Step[] {
  const { name, shell, unit } = LIMITS[limit];
  if (container !== undefined) {
    return [
      put('In Docker or podman', 'docker run', `--ulimit ${name}=${value}:${value}`),
      put('In Compose', 'docker-compose.yml', `ulimits: { ${name}: ${value} }`),
    ];
  }
  const inUnits = Math.ceil(value / unit);
  return [
    run('In the shell that starts it, as root', `ulimit ${shell} ${inUnits}`),
    put(UNDER_SYSTEMD, UNIT_FILE, `${limit}=${value}`),
    put('For logins', '/etc/security/limits.d/90-hostpool.conf', `* - ${name} ${inUnits}`),
  ];
}

/** Makes the kernel hold so many hugepages of a size, on the machine or on one node; and again at each boot. */
export function hugepages(sizeBytes: number, pages: number, node: number | undefined, container?: Container): Step[] {
  const folder = node === undefined ? '/sys/kernel/mm' : `/sys/devices/system/node/node${node}`;
  const file = `${folder}/hugepages/hugepages-${sizeBytes / 1024}kB/nr_hugepages`;
  const parameter = `hugepagesz=${shortPageSize(sizeBytes)} hugepages=${node === undefined ? pages : `${node}:${pages}`}`;
  const onHost = [
    run('Now, on the host', `echo ${pages} | sudo tee ${file}`),
    run('Then read it back: the kernel may give fewer', `cat ${file}`),
    put('At each boot; then sudo update-grub', GRUB_FILE, `GRUB_CMDLINE_LINUX="$GRUB_CMDLINE_LINUX ${parameter}"`),
  ];
  if (container !== 'kubernetes') return onHost;
  const resource = `hugepages-${shortPageSize(sizeBytes)}i`;
  const line = `resources: { limits: { ${resource}: ${pages * sizeBytes} } }`;
  return [...onHost, put('In Kubernetes, beside that', 'the pod spec, of the container', line)];
}

/** Raises the memory limit of a control group to so many bytes. */
export function memoryLimit(
  group: { version: number; path: string },
  bytes: number,
  container: Container | undefined,
): Step[] {
  const mebibytes = Math.ceil(bytes / 2 ** 20);
  if (container === 'kubernetes')
    return [
      put('In Kubernetes', 'the pod spec, of the container', `resources: { limits: { memory: ${mebibytes}Mi } }`),
    ];
  if (container !== undefined) {
    return [
      run(
        'Now, on the host, where the container is called hostpool',
        `docker update --memory ${mebibytes}m --memory-swap ${mebibytes}m hostpool`,
      ),
      put('In Compose', 'docker-compose.yml', `mem_limit: ${mebibytes}m`),
    ];
  }
  const unit = group.path.split('/').findLast((part) => /\.(service|scope|slice)$/.test(part));
  if (unit !== undefined)
    return [run('Now and at each boot', `sudo systemctl set-property ${shellWord(unit)} MemoryMax=${mebibytes}M`)];
  const folder = group.version === 1 ? '/sys/fs/cgroup/memory' : '/sys/fs/cgroup';
  const file = group.version === 1 ? 'memory.limit_in_bytes' : 'memory.max';
  const path = `${folder}${group.path === '/' ? '' : group.path}/${file}`;
  return [run('Now', `echo ${mebibytes * 2 ** 20} | sudo tee ${shellWord(path)}`)];
}

/** Lets the process take memory from nodes. */
export function allowNodes(nodes: string, container: Container | undefined): Step[] {
  if (container === 'kubernetes')
    return [act('Let the kubelet give it those nodes: memoryManagerPolicy, topologyManagerPolicy.')];
  if (container !== undefined) return [put('In Docker or podman', 'docker run', `--cpuset-mems ${nodes}`)];
  return [put(UNDER_SYSTEMD, UNIT_FILE, `AllowedMemoryNodes=${nodes}`)];
}

/** What a size of hugepages is called in the id of a finding, e.g. `2mib`. */
export function idOfSize(sizeBytes: number): string {
  return pageSize(sizeBytes).toLowerCase();
}
