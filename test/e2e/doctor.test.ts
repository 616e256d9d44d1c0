import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished, type TestContext } from 'vitest';
import { examine, findingIn, runDoctor } from '../testkit/doctor.js';
import { ALLOCATE_BUFFER, CREATE_BUDGET, CREATE_PAGED, RESERVE } from '../testkit/graphql.js';
import { hugepageFiles, plainHost } from '../testkit/host-root.js';
import { makeMemoryCgroup } from '../testkit/memory-cgroup.js';
import { idleProcess } from '../testkit/process.js';
import { refusing } from '../testkit/seccomp.js';
import { startServerForTest, stateFolder } from '../testkit/server.js';

const GIB = 2 ** 30;
const TWO_NODES = {
  'sys/devices/system/node/online': '0-1\n',
  'sys/devices/system/node/node1/meminfo': 'Node 1 MemTotal: 4194304 kB\nNode 1 MemFree: 4194304 kB\n',
  ...hugepageFiles('sys/kernel/mm', 96, 96),
  ...hugepageFiles('sys/devices/system/node/node0', 64, 64),
  ...hugepageFiles('sys/devices/system/node/node1', 32, 32),
};

function hostOf(bytes: number, files: Record<string, string> = {}): { HOSTPOOL_HOST_ROOT: string } {
  const host = plainHost(bytes, files);
  onTestFinished(host.remove);
  return { HOSTPOOL_HOST_ROOT: host.path };
}

function folder(): { HOSTPOOL_STATE_DIR: string } {
  const path = stateFolder();
  onTestFinished(() => rmSync(path, { recursive: true, force: true }));
  return { HOSTPOOL_STATE_DIR: path };
}

/** What is in a folder, byte for byte, and when it was written. */
function contents(path: string): object {
  const files = readdirSync(path).sort();
  const stamp = (name: string) => [name, readFileSync(join(path, name), 'base64'), statSync(join(path, name)).mtimeMs];
  return { files: files.map(stamp), folder: statSync(path).mtimeMs };
}

const copies = () => readdirSync(tmpdir()).filter((name) => name.startsWith('hostpool-doctor-'));

describe('hostpool doctor on a host where all is well', () => {
  it('says so in columns, changes nothing, and exits with 0', async () => {
    const before = copies();
    const state = folder();
    const { code, out, err } = await runDoctor([], { ...hostOf(8 * GIB), ...state });
    expect({ code, err }).toEqual({ code: 0, err: '' });
    expect(out).toMatch(/^hostpool doctor: \S+\n {2}As this process sees it/);
    for (const heading of ['Kernel', 'Permissions', 'Limits', 'Memory', 'Hugepages', 'NUMA', 'State'])
      expect(out).toMatch(new RegExp(`^${heading}$`, 'm'));
    expect(out).toMatch(/\nAll that is configured can be met\./);
    expect(out, 'no colour in a pipe').not.toContain('\u001b');
    expect(readdirSync(state.HOSTPOOL_STATE_DIR)).toEqual([]);
    expect(copies()).toEqual(before);
  });

  it('says the same as JSON', async () => {
    const { code, report } = await examine([], hostOf(8 * GIB));
    expect(code).toBe(0);
    expect(report).toMatchObject({ canMeet: true, hostname: expect.any(String), observedAt: expect.any(String) });
    expect(findingIn(report, 'memory')).toMatchObject({
      area: 'MEMORY',
      severity: 'OK',
      detail: '8 GiB of 16 GiB are available.',
    });
    expect(findingIn(report, 'state').severity).toBe('INFO');
  });

  it('looks at the real one too', async () => {
    const { report } = await examine([]);
    expect(findingIn(report, 'kernel').title).toContain(readFileSync('/proc/sys/kernel/osrelease', 'utf8').trim());
    expect(findingIn(report, 'prefault').severity).toBe('OK');
    expect(report.findings.filter(({ id }) => id === 'kernel-files')).toEqual([]);
  });
});

describe('memory that is asked about by options', () => {
  it.each<[string, string[], string, RegExp]>([
    [
      'more than there is',
      ['--bytes', '9GiB'],
      'wish-host-memory',
      /9 GiB ANONYMOUS_SHM: it takes 9 GiB; 8 GiB can be promised/,
    ],
    [
      'more hugepages',
      ['--hugepage-size', '2MiB', '--bytes', '1GiB'],
      'wish-hugepages',
      /it takes 512 hugepages, and 96 can be had/,
    ],
    [
      'hugepages of another size',
      ['--hugepage-size', '16MiB'],
      'wish-hugepage-size',
      /the kernel has these sizes: 2 MiB/,
    ],
    ['a node that is not there', ['--numa-node', '7'], 'wish-node-absent', /bound to these nodes: 0, 1/],
    [
      'more than a node has',
      ['--numa-node', '1', '--bytes', '6GiB'],
      'wish-node-memory',
      /more than the node has free/,
    ],
  ])('cannot be had when it is %s: exit code 1, with what to do', async (_name, args, id, detail) => {
    const { code, report } = await examine(args, hostOf(8 * GIB, TWO_NODES));
    expect(findingIn(report, id)).toMatchObject({
      severity: 'ERROR',
      area: 'WISHES',
      detail: expect.stringMatching(detail),
      wishes: ['the wish'],
    });
    expect(findingIn(report, id).steps.length).toBeGreaterThan(0);
    expect({ code, canMeet: report.canMeet }).toEqual({ code: 1, canMeet: false });
  });

  it('names the number of hugepages to reserve, those there are included', async () => {
    const args = ['--hugepage-size', '2MiB', '--bytes', '1GiB'];
    const { report } = await examine(args, hostOf(8 * GIB, TWO_NODES));
    expect(findingIn(report, 'wish-hugepages').commands[0]).toBe(
      'echo 512 | sudo tee /sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages',
    );
  });

  it('can be had when it fits: exit code 0', async () => {
    const args = ['--backing', 'ANONYMOUS_SHM_HUGETLB', '--bytes', '64MiB', '--numa-node', '1'];
    const { code, report } = await examine(args, hostOf(8 * GIB, TWO_NODES));
    expect(code).toBe(0);
    expect(findingIn(report, 'wish-met').detail).toContain('64 MiB ANONYMOUS_SHM_HUGETLB on pages of 2 MiB on node 1');
  });
});

describe('settings that cannot be met', () => {
  it('name the variable: a reserve that is more than there is', async () => {
    const { code, report } = await examine([], { ...hostOf(GIB), HOSTPOOL_RESERVE: '10GiB' });
    expect(code).toBe(1);
    expect(findingIn(report, 'reserve')).toMatchObject({ severity: 'ERROR', wishes: ['HOSTPOOL_RESERVE'] });
  });

  it('name the variable: a port that something else listens on', async () => {
    const other = createServer().listen(0, '127.0.0.1');
    onTestFinished(() => void other.close());
    await once(other, 'listening');
    const { port } = other.address() as { port: number };
    const { code, report } = await examine([], { ...hostOf(GIB), HOSTPOOL_PORT: String(port) });
    expect(code).toBe(1);
    expect(findingIn(report, 'port')).toMatchObject({ severity: 'ERROR', wishes: ['HOSTPOOL_PORT'] });
  });

  it('are refused, like unknown options, with 2', async () => {
    expect(await runDoctor([], { HOSTPOOL_RESERVE: 'much' })).toMatchObject({
      code: 2,
      out: '',
      err: expect.stringContaining('HOSTPOOL_RESERVE'),
    });
    const { code, err } = await runDoctor(['--fix']);
    expect({ code, err }).toEqual({ code: 2, err: expect.stringContaining("'--fix'") });
    expect(err).toContain('hostpool doctor --help');
  });

  it('a host that cannot be read is 2 as well, and still told about', async () => {
    const { code, report } = await examine([], { HOSTPOOL_HOST_ROOT: '/var/empty-host' });
    expect(code).toBe(2);
    expect(findingIn(report, 'host-unreadable')).toMatchObject({
      severity: 'ERROR',
      detail: expect.stringContaining('meminfo'),
    });
  });
});

it('has a help of its own', async () => {
  const { code, out } = await runDoctor(['--help']);
  expect(code).toBe(0);
  for (const option of ['--json', '--local', '--backing', '--hugepage-size', '--bytes', '--numa-node', '--lock-memory'])
    expect(out).toContain(option);
});

describe('rights that this process lacks', () => {
  it('a seccomp filter as of Docker, without SYS_NICE', async (context) => {
    const command = refusing('mbind', 'get_mempolicy');
    if (typeof command === 'string') return skip(context, command);
    const { code, report } = await examine([], hostOf(GIB), command);
    expect(code, 'no configured wish binds').toBe(0);
    const bind = findingIn(report, 'numa-bind');
    expect(bind).toMatchObject({ severity: 'WARNING', detail: expect.stringContaining('mbind is refused with EPERM') });
    expect(JSON.stringify(bind.steps)).toContain('SYS_NICE');
    expect(findingIn(report, 'numa-placement').severity).toBe('WARNING');

    const bound = await examine(['--numa-node', '0'], hostOf(GIB), command);
    expect(bound.code).toBe(1);
    expect(findingIn(bound.report, 'numa-bind')).toMatchObject({ severity: 'ERROR', wishes: ['the wish'] });
  });

  it('a limit on locked memory', async (context) => {
    const command = ['setpriv', '--bounding-set=-ipc_lock', '--inh-caps=-ipc_lock', 'prlimit', '--memlock=65536:65536'];
    const missing = whyNot(command);
    if (missing !== undefined) return skip(context, missing);
    const { code, report } = await examine([], hostOf(GIB), command);
    expect(code).toBe(0);
    expect(findingIn(report, 'lock-memory')).toMatchObject({
      severity: 'INFO',
      title: 'At most 64 KiB of memory can be locked',
    });
    const locked = await examine(['--lock-memory', '--bytes', '1MiB'], hostOf(GIB), command);
    expect(locked.code).toBe(1);
    const { severity, detail, steps } = findingIn(locked.report, 'lock-memory');
    expect({ severity, detail }).toEqual({
      severity: 'ERROR',
      detail: expect.stringContaining('1 MiB are to be locked'),
    });
    expect(JSON.stringify(steps), 'whatever runs this process').toMatch(/(LimitMEMLOCK|memlock)=1048576/);
    const few = await examine(['--lock-memory', '--bytes', '32KiB'], hostOf(GIB), command);
    expect(few.code, 'a limit that is not reached is in nobody’s way').toBe(0);
  });

  it('few open files', async (context) => {
    const command = ['prlimit', '--nofile=256:256'];
    const missing = whyNot(command);
    if (missing !== undefined) return skip(context, missing);
    const { report } = await examine([], hostOf(GIB), command);
    expect(findingIn(report, 'open-files')).toMatchObject({
      severity: 'WARNING',
      detail: expect.stringContaining('RLIMIT_NOFILE is 256'),
    });
  });

  it('a memory limit', async (context) => {
    const cgroup = makeMemoryCgroup(256 * 2 ** 20);
    if (typeof cgroup === 'string') return skip(context, cgroup);
    const { code, report } = await examine(['--bytes', '1GiB'], {}, cgroup.command);
    expect(code).toBe(1);
    expect(findingIn(report, 'memory-limit').detail).toContain(`of 256 MiB are left in ${cgroup.path}`);
    expect(findingIn(report, 'wish-memory-limit').severity).toBe('ERROR');
  });
});

const spec = { layerNum: 2, itemBytes: '1MiB', slotPageSize: 1, memory: { prefault: false } };

describe('what is kept', () => {
  it('is judged together, as a start would have it, from a copy: the state stays as it is', async () => {
    const state = folder();
    const root = plainHost(2 * GIB, TWO_NODES);
    onTestFinished(root.remove);
    const env = { ...state, HOSTPOOL_HOST_ROOT: root.path };
    const server = await startServerForTest(env);
    const memory = { backing: 'ANONYMOUS_SHM', prefault: false };
    for (const name of ['a', 'b']) await server.data(CREATE_PAGED, { input: { ...spec, name, numHostPages: 300 } });
    await server.data(ALLOCATE_BUFFER, { input: { nbytes: '600MiB', memory } });
    await server.data(CREATE_BUDGET, { input: { name: 'job', requestedBytes: '1MiB' } });
    const { pid } = await idleProcess();
    await server.data(RESERVE, { input: { bytes: '100MiB', holder: 'engine', pid } });
    await server.stop();

    const [before, left] = [contents(state.HOSTPOOL_STATE_DIR), copies()];
    const fits = await examine([], env);
    expect(fits.code).toBe(0);
    expect(fits.report.findings.filter(({ id }) => id === 'wish-met').map(({ title }) => title)).toEqual([
      'Pool "a" can be had',
      'Pool "b" can be had',
      'Host buffer 1 can be had',
    ]);
    expect(findingIn(fits.report, 'state').detail).toContain(
      '2 budgets, 1 reservation that would go on, 3 pools and buffers',
    );

    // 1.9 GiB are wanted: two of the three fit beside the reservation, which comes first.
    root.set('proc/meminfo', 'MemTotal: 4194304 kB\nMemFree: 1468006 kB\nMemAvailable: 1468006 kB\n');
    const short = await examine([], env);
    expect(short.code).toBe(1);
    expect(findingIn(short.report, 'wish-host-memory')).toMatchObject({ severity: 'ERROR', wishes: ['host buffer 1'] });
    expect(contents(state.HOSTPOOL_STATE_DIR)).toEqual(before);
    expect(copies()).toEqual(left);
  });

  it.each<[string, (file: string) => void, RegExp]>([
    ['damaged', (file) => writeFileSync(file, 'not a database'), /is not a state file of hostpool/],
    ['empty', (file) => writeFileSync(file, ''), /is empty/],
  ])('and is %s is a finding, told by its own path', async (_name, spoil, detail) => {
    const state = folder();
    spoil(join(state.HOSTPOOL_STATE_DIR, 'hostpool.sqlite3'));
    const before = contents(state.HOSTPOOL_STATE_DIR);
    const { code, report } = await examine([], { ...hostOf(GIB), ...state });
    expect(code).toBe(1);
    const found = findingIn(report, 'state');
    expect(found).toMatchObject({
      severity: 'ERROR',
      detail: expect.stringMatching(detail),
      wishes: ['HOSTPOOL_STATE_DIR'],
    });
    expect(found.detail).toContain(state.HOSTPOOL_STATE_DIR);
    expect(contents(state.HOSTPOOL_STATE_DIR)).toEqual(before);
  });

  it('nowhere, because its folder cannot be made', async () => {
    const { code, report } = await examine([], { ...hostOf(GIB), HOSTPOOL_STATE_DIR: '/proc/1/hostpool' });
    expect(code).toBe(1);
    expect(findingIn(report, 'state').severity).toBe('ERROR');
  });

  it('in a folder that is not there yet is nothing to worry about, and the folder is not made', async () => {
    const { HOSTPOOL_STATE_DIR: parent } = folder();
    const { code, report } = await examine([], { ...hostOf(GIB), HOSTPOOL_STATE_DIR: join(parent, 'new') });
    expect({ code, severity: findingIn(report, 'state').severity }).toEqual({ code: 0, severity: 'INFO' });
    expect(readdirSync(parent)).toEqual([]);
  });
});

describe('beside a hostpool that runs', () => {
  it('asks that one: its rights and what it holds are what counts', async (context) => {
    const command = refusing('mbind', 'get_mempolicy');
    if (typeof command === 'string') return skip(context, command);
    const env = { ...folder(), ...hostOf(GIB) };
    const server = await startServerForTest(env, command);
    await server.data(CREATE_PAGED, { input: { ...spec, name: 'kv', numHostPages: 300 } });
    const running = { ...env, HOSTPOOL_PORT: new URL(server.url).port };
    const { code, report } = await examine([], running);
    expect(code).toBe(0);
    expect(findingIn(report, 'numa-bind').severity).toBe('WARNING');
    expect(findingIn(report, 'wish-met').detail).toContain('it is there');
    expect(report.stateFile).toBe(join(env.HOSTPOOL_STATE_DIR, 'hostpool.sqlite3'));
    expect((await runDoctor([], running)).out).toContain(`As the hostpool sees it that runs at ${server.url}`);
    // What it holds is not wanted a second time; what is asked about comes on top.
    const more = await examine(['--bytes', '600MiB'], running);
    expect(more.code).toBe(1);
    expect(findingIn(more.report, 'wish-host-memory').wishes).toEqual(['the wish']);
    const bound = await examine(['--numa-node', '0', '--backing', 'ANONYMOUS'], running);
    expect(findingIn(bound.report, 'numa-bind')).toMatchObject({ severity: 'ERROR', wishes: ['the wish'] });
    expect((await server.data('{ budget { chargedBytes } pools { name } }')).pools).toEqual([{ name: 'kv' }]);
  });

  it('looks by itself where it cannot ask, or is told to, and says what it did not see', async () => {
    const env = { ...folder(), ...hostOf(GIB) };
    const server = await startServerForTest(env);
    const before = contents(env.HOSTPOOL_STATE_DIR);
    const cannot = await examine([], { ...env, HOSTPOOL_PORT: '0' });
    expect(cannot.code).toBe(0);
    expect(findingIn(cannot.report, 'state')).toMatchObject({ severity: 'WARNING', title: 'The state is in use' });
    const local = await examine(['--local'], { ...env, HOSTPOOL_PORT: new URL(server.url).port });
    expect(findingIn(local.report, 'state').severity).toBe('WARNING');
    expect(contents(env.HOSTPOOL_STATE_DIR)).toEqual(before);
    expect(await server.data(CREATE_BUDGET, { input: { name: 'still-saved', requestedBytes: 1 } })).toMatchObject({
      createBudget: { __typename: 'Budget' },
    });
  });

  it('finds in the log of its start what was worth a warning', async (context) => {
    const command = refusing('mbind', 'get_mempolicy');
    if (typeof command === 'string') return skip(context, command);
    const server = await startServerForTest(hostOf(GIB), command);
    const told = server.log.filter(({ finding }) => finding !== undefined);
    expect(told).toEqual(
      expect.arrayContaining([
        expect.objectContaining({ level: 'warn', finding: 'numa-bind', title: 'Binds to a NUMA node are refused' }),
      ]),
    );
    const listening = server.log.findIndex(({ msg }) => msg === 'listening');
    expect(server.log.findIndex(({ finding }) => finding !== undefined)).toBeLessThan(listening);
  });
});

function whyNot([program = '', ...args]: string[]): string | undefined {
  const tried = spawnSync(program, [...args, 'true'], { encoding: 'utf8' });
  return tried.status === 0 ? undefined : `${program}: ${tried.error?.message ?? tried.stderr.trim()}`;
}

function skip(context: TestContext, reason: string): void {
  console.log(`SKIPPED: ${reason}`);
  context.skip(reason);
}
