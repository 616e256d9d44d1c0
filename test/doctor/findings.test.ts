import { readdirSync, readFileSync } from 'node:fs';
import { beforeAll, describe, expect, it } from 'vitest';
import { type BudgetReading, HostAllocator, type HostFacts, HostState } from '../../native/index.js';
import { diagnose } from '../../src/doctor/diagnose.js';
import { commandsOf, type Finding } from '../../src/doctor/finding.js';
import type { JudgedWish, Look } from '../../src/doctor/look.js';
import { hugepageFiles, plainHost } from '../testkit/host-root.js';

const GIB = 2 ** 30;
const NODE_1 = {
  'sys/devices/system/node/online': '0-1\n',
  'sys/devices/system/node/node1/meminfo': 'Node 1 MemTotal: 4194304 kB\nNode 1 MemFree: 4194304 kB\n',
  'sys/devices/system/node/node1/cpulist': '2-3\n',
  'sys/devices/system/node/node1/distance': '20 10\n',
  ...hugepageFiles('sys/kernel/mm', 96, 96),
  ...hugepageFiles('sys/devices/system/node/node0', 64, 64),
  ...hugepageFiles('sys/devices/system/node/node1', 32, 32),
};

/** What the addon finds on a host of two nodes; each test changes what it is about. */
let base: Look;

beforeAll(async () => {
  const root = plainHost(8 * GIB, NODE_1);
  const native = new HostAllocator({ hostRoot: root.path, reserveBytes: GIB }, new HostState());
  base = {
    facts: await HostAllocator.gatherFacts(root.path),
    host: await native.readHost(),
    hostRoot: root.path,
    reserveBytes: GIB,
    budgets: await native.readBudgets(),
    wishes: [],
    state: { kind: 'NotKept' },
    container: undefined,
  };
  root.remove();
});

const wish: JudgedWish = {
  name: 'pool "kv"',
  memory: { backing: 'AnonymousShm', onHugepageShortage: 'Fail', numaNode: -1, prefault: true },
  bytes: 2 * GIB,
  budget: 'host',
  isHeld: false,
  backing: 'AnonymousShm',
};

type Changed = Partial<Omit<Look, 'facts'>> & {
  settings?: Partial<HostFacts['settings']>;
  process?: Partial<HostFacts['process']>;
  refused?: Partial<HostFacts['refused']>;
};

function find(id: string, { settings, process, refused, ...changed }: Changed = {}): Finding {
  const { facts } = base;
  const own = {
    ...facts,
    settings: { ...facts.settings, ...settings },
    process: { ...facts.process, ...process },
    refused: { ...facts.refused, ...refused },
  };
  const found = diagnose({ ...base, ...changed, facts: own }).filter((finding) => finding.id === id);
  expect(found.map((finding) => finding.id)).toEqual([id]);
  return found[0] as Finding;
}

const lines = ({ steps }: Finding) => steps.flatMap(({ line }) => line ?? []);

describe('a wish that a right is missing for', () => {
  const bound = { ...wish, memory: { ...wish.memory, numaNode: 1 } };
  const locked = { ...wish, memory: { ...wish.memory, lockMemory: true } };

  it.each<[string, Changed, JudgedWish, RegExp]>([
    ['numa-bind', { refused: { bind: 'EPERM' } }, bound, /mbind is refused with EPERM/],
    ['numa-bind', { refused: { bind: 'ENOSYS' } }, bound, /built without NUMA/],
    ['memfd', { refused: { memfd: 'EACCES' }, settings: { memfdNoexec: 2 } }, wish, /because vm.memfd_noexec is 2/],
    ['prefault', { refused: { populate: 'EINVAL' } }, wish, /refused with EINVAL/],
    [
      'lock-memory',
      { refused: { lockBeyondLimit: 'ENOMEM' }, process: { lockedMemory: { soft: GIB } } },
      locked,
      /2 GiB are to be locked/,
    ],
    [
      'overcommit',
      { settings: { overcommitMemory: 2, commitLimit: 4 * GIB, committed: 3 * GIB } },
      wish,
      /1 GiB of CommitLimit 4 GiB are left/,
    ],
    ['numa-allowed', { process: { nodeIdsAllowed: [0], nodesAllowed: '0' } }, bound, /not from node 1/],
  ])('is blocked by %s', (id, changed, blocked, detail) => {
    const found = find(id, { ...changed, wishes: [blocked] });
    expect(found).toMatchObject({ severity: 'ERROR', wishes: ['pool "kv"'], detail: expect.stringMatching(detail) });
    expect(found.steps.length).toBeGreaterThan(0);
    const held = find(id, { ...changed, wishes: [{ ...blocked, isHeld: true }] });
    expect(held.severity, 'memory that is there needs no right any more').not.toBe('ERROR');
    expect(held.wishes).toEqual([]);
  });

  it.each<[string, Partial<JudgedWish['memory']>, string[]]>([
    ['several nodes', { numaNodes: [0, 1] }, ['pool "kv"']],
    ['every node in turn', { numaPolicy: 'Interleave' }, ['pool "kv"']],
    ['any node', {}, []],
  ])('needs binds, or does not, when it is for %s', (_name, memory, blocked) => {
    const wishes = [{ ...wish, memory: { ...wish.memory, ...memory } }];
    expect(find('numa-bind', { refused: { bind: 'EPERM' }, wishes }).wishes).toEqual(blocked);
  });

  it('is not one on hugepages that is to be locked: those are never swapped', () => {
    const huge = { ...locked, memory: { ...locked.memory, backing: 'AnonymousHugetlb' as const } };
    const process = { lockedMemory: { soft: GIB } };
    expect(find('lock-memory', { refused: { lockBeyondLimit: 'ENOMEM' }, process, wishes: [huge] }).wishes).toEqual([]);
  });

  it('is not told to be met as well', () => {
    const look = {
      ...base,
      wishes: [bound],
      facts: { ...base.facts, refused: { ...base.facts.refused, bind: 'EPERM' } },
    };
    expect(diagnose(look).map(({ id }) => id)).not.toContain('wish-met');
  });
});

describe('what to do', () => {
  it('about a missing capability depends on what runs the process', () => {
    const steps = (container: Look['container']) => find('numa-bind', { refused: { bind: 'EPERM' }, container });
    expect(lines(steps('docker'))).toEqual(expect.arrayContaining(['--cap-add SYS_NICE', 'cap_add: [SYS_NICE]']));
    expect(lines(steps('kubernetes'))).toEqual(['securityContext: { capabilities: { add: [SYS_NICE] } }']);
    expect(lines(steps(undefined))).toEqual(['AmbientCapabilities=CAP_SYS_NICE']);
  });

  it('about a sysctl is a command for now and a line for each boot', () => {
    const found = find('mappings', { settings: { maxMapCount: 1000 } });
    expect(found.severity).toBe('WARNING');
    expect(commandsOf(found)).toEqual(['sudo sysctl -w vm.max_map_count=262144']);
    expect(found.steps[1]).toMatchObject({ file: '/etc/sysctl.d/90-hostpool.conf', line: 'vm.max_map_count = 262144' });
  });

  it('about hugepages counts those there are and those that are missing, on the node asked', () => {
    const failure = {
      kind: 'HostBufferAllocationFailed',
      message: 'no',
      reason: 'NumaNodeExhausted',
      nbytes: 128 * 2 ** 20,
      mappedBytes: 128 * 2 ** 20,
      requestedBacking: 'AnonymousShmHugetlb',
      hugepageSize: 2 ** 21,
      numaNode: 1,
      numaNodes: [1],
      hugepagesNeeded: 64,
      hugepagesFree: 32,
      onlineNumaNodes: [0, 1],
    } as const;
    const memory = { ...wish.memory, backing: 'AnonymousShmHugetlb', numaNode: 1 } as const;
    const found = find('wish-node-memory', {
      wishes: [
        { ...wish, memory, backing: undefined, failure: { ...failure, numaNodes: [1], onlineNumaNodes: [0, 1] } },
      ],
    });
    const file = '/sys/devices/system/node/node1/hugepages/hugepages-2048kB/nr_hugepages';
    expect(commandsOf(found)).toEqual([`echo 64 | sudo tee ${file}`, `cat ${file}`]);
    expect(lines(found)).toEqual(['GRUB_CMDLINE_LINUX="$GRUB_CMDLINE_LINUX hugepagesz=2M hugepages=1:64"']);
    expect(found.detail).toContain('64 hugepages, and 32 can be had');
  });

  it.each<[string, { version: number; path: string }, Look['container'], RegExp]>([
    [
      'a unit of systemd',
      { version: 2, path: '/system.slice/hostpool.service' },
      undefined,
      /^sudo systemctl set-property hostpool.service MemoryMax=/,
    ],
    [
      'a group of v1',
      { version: 1, path: '/a b' },
      undefined,
      /tee '\/sys\/fs\/cgroup\/memory\/a b\/memory.limit_in_bytes'$/,
    ],
    ['a group of v2', { version: 2, path: '/' }, undefined, /tee \/sys\/fs\/cgroup\/memory.max$/],
    ['a container', { version: 2, path: '/' }, 'docker', /^docker update --memory \d+m/],
  ])('about a memory limit is right for %s', (_name, group, container, command) => {
    const cgroup = { ...group, limit: GIB, usage: GIB, reclaimable: 0, available: 0 };
    const host = { ...(base.host as NonNullable<Look['host']>), cgroup };
    const found = find('memory-limit', { host, container });
    expect(found.severity).toBe('WARNING');
    expect(commandsOf(found)[0]).toMatch(command);
  });
});

describe('the reserve', () => {
  const withReserve = (reserveBytes: number) => [{ ...(base.budgets[0] as BudgetReading), reserveBytes }];

  it('is a setting that cannot be met when it is more than the host has in all', () => {
    expect(find('reserve', { budgets: withReserve(64 * GIB) })).toMatchObject({
      severity: 'ERROR',
      wishes: ['HOSTPOOL_RESERVE'],
    });
  });

  it('is worth a warning when it takes all that is available now', () => {
    expect(find('reserve', { budgets: withReserve(9 * GIB) })).toMatchObject({ severity: 'WARNING', wishes: [] });
  });
});

describe('a host where all is well', () => {
  it('has no finding above INFO, each with an id, a title and figures', () => {
    const findings = diagnose({ ...base, wishes: [wish], facts: calm(base.facts) });
    expect(findings.filter(({ severity }) => severity !== 'OK' && severity !== 'INFO')).toEqual([]);
    for (const { id, title, detail } of findings) {
      expect(id).toMatch(/^[a-z0-9]+(-[a-z0-9]+)*$/);
      expect(title.length, id).toBeGreaterThan(3);
      expect(detail, id).toMatch(/[.:]$/);
    }
  });

  it('tells of its nodes and its hugepages on them', () => {
    expect(find('numa-nodes').detail).toContain('node 1: 4 GiB of 4 GiB free, CPUs 2-3');
    expect(find('hugepages-2mib').detail).toBe(
      '96 pages, 96 free, 0 reserved: 96 (192 MiB) can be used; node 0: 64 of 64 free; node 1: 32 of 32 free.',
    );
  });
});

/** Without what the machine that runs the tests may lack. */
function calm(facts: HostFacts): HostFacts {
  const descriptors = { soft: 65_536, hard: 65_536 };
  return { ...facts, refused: {}, process: { ...facts.process, descriptors } };
}

it('every id is explained in docs/doctor.md', () => {
  const source = new URL('../../src/doctor/', import.meta.url);
  const text = readdirSync(source)
    .map((name) => readFileSync(new URL(name, source), 'utf8'))
    .join('\n');
  const ids = [...text.matchAll(/\b(?:ok|info|problem)\(\s*'[A-Z]+',\s*'([a-z0-9-]+)'/g)].map(([, id]) => id);
  const reasons = [...(/type Reason =([^;]*);/.exec(text)?.[1] ?? '').matchAll(/'([a-z-]+)'/g)].map(
    ([, id]) => `wish-${id}`,
  );
  expect([ids.length > 20, reasons.length > 8]).toEqual([true, true]);
  const docs = readFileSync(new URL('../../docs/doctor.md', import.meta.url), 'utf8');
  expect([...ids, ...reasons].filter((id) => !docs.includes(`| \`${id}\` |`))).toEqual([]);
});

it('a host that cannot be read is one error, and nothing else is made up of it', () => {
  const findings = diagnose({
    ...base,
    host: undefined,
    unreadable: '/x/proc/meminfo is missing',
    budgets: [],
    wishes: [wish],
  });
  expect(findings.filter(({ severity }) => severity === 'ERROR')).toEqual([
    expect.objectContaining({
      id: 'host-unreadable',
      detail: '/x/proc/meminfo is missing',
      wishes: ['HOSTPOOL_HOST_ROOT', 'pool "kv"'],
    }),
  ]);
  const areas = new Set(findings.map(({ area }) => area));
  expect(areas.has('HUGEPAGES') || areas.has('NUMA')).toBe(false);
});
