import { existsSync, readFileSync } from 'node:fs';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import type { DoctorReport } from '../../src/cli/doctor-report.js';
import { findingIn } from '../testkit/doctor.js';
import { ALLOCATE_BUFFER, CREATE_PAGED } from '../testkit/graphql.js';
import { type FakeHost, hugepageFiles, plainHost } from '../testkit/host-root.js';
import { processState } from '../testkit/process-state.js';
import { startServerForTest, stateFolder, type TestServer } from '../testkit/server.js';

const GIB = 2 ** 30;
const DOCTOR = `query Doctor($wish: DoctorWishInput) {
  doctor(wish: $wish) {
    __typename observedAt hostname stateFile severity canMeet
    findings { id area severity title detail steps { summary command file line } commands wishes }
  }
}`;

async function serverOn(files: Record<string, string> = {}): Promise<{ server: TestServer; host: FakeHost }> {
  const host = plainHost(2 * GIB, files);
  onTestFinished(host.remove);
  return { server: await startServerForTest({ HOSTPOOL_HOST_ROOT: host.path }), host };
}

const ask = async (server: TestServer, wish?: object): Promise<DoctorReport> =>
  (await server.data(DOCTOR, { wish: wish ?? null })).doctor;

describe('the query doctor', () => {
  it('answers with every area, and every finding is in docs/doctor.md', async () => {
    const { server } = await serverOn(hugepageFiles('sys/kernel/mm', 4, 4));
    const report = await ask(server);
    expect(report).toMatchObject({ __typename: 'Doctor', canMeet: true, hostname: expect.any(String) });
    expect(report.stateFile).toMatch(/\/hostpool\.sqlite3$/);
    const areas = new Set(report.findings.map(({ area }) => area));
    expect([...areas]).toEqual(['KERNEL', 'PERMISSIONS', 'LIMITS', 'MEMORY', 'HUGEPAGES', 'NUMA', 'STATE']);
    const docs = readFileSync(new URL('../../docs/doctor.md', import.meta.url), 'utf8');
    const undocumented = report.findings.map(({ id }) => id.replace(/^hugepages-\w+$/, 'hugepages-<size>'));
    expect(undocumented.filter((id) => !docs.includes(`\`${id}\``))).toEqual([]);
  });

  it('charges nothing, maps nothing and tells nobody, also for a wish', async () => {
    const { server } = await serverOn();
    await ask(server);
    const before = await processState(server);
    for (const bytes of ['1GiB', '9GiB']) await ask(server, { bytes, memory: { prefault: false } });
    expect(await processState(server)).toEqual(before);
  });

  it('judges a wish beside what is there', async () => {
    const { server } = await serverOn();
    const wish = { bytes: '1.5GiB', memory: { backing: 'ANONYMOUS' } };
    expect(findingIn(await ask(server, wish), 'wish-met').detail).toBe('1.5 GiB ANONYMOUS: it fits now.');
    const input = { name: 'kv', layerNum: 1, numHostPages: 1024, itemBytes: '1MiB', slotPageSize: 1 };
    await server.data(CREATE_PAGED, { input: { ...input, memory: { prefault: false } } });
    const report = await ask(server, wish);
    expect(report).toMatchObject({ canMeet: false, severity: 'ERROR' });
    expect(findingIn(report, 'wish-host-memory')).toMatchObject({ severity: 'ERROR', wishes: ['the wish'] });
    expect(findingIn(report, 'wish-met').title).toBe('Pool "kv" can be had');
  });

  it('asks about one page when no size is given, and falls back where the wish allows that', async () => {
    const { server } = await serverOn(hugepageFiles('sys/kernel/mm', 0, 0));
    const memory = { backing: 'ANONYMOUS_SHM_HUGETLB' };
    const fails = findingIn(await ask(server, { memory }), 'wish-hugepages');
    expect(fails.detail).toContain(
      '2 MiB ANONYMOUS_SHM_HUGETLB on pages of 2 MiB: it takes 1 hugepage, and 0 can be had',
    );
    expect(fails.commands[0]).toBe('echo 1 | sudo tee /sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages');
    const falls = await ask(server, { memory: { ...memory, onHugepageShortage: 'FALL_BACK' } });
    expect(falls.canMeet).toBe(true);
    expect(findingIn(falls, 'wish-fell-back')).toMatchObject({ severity: 'INFO', wishes: [] });
  });

  it('refuses no wish as an error of GraphQL that is only one of the host', async () => {
    const { server } = await serverOn();
    for (const memory of [{ numaNode: 9 }, { numaNode: -7 }, { backing: 'ANONYMOUS_HUGETLB', hugepageSize: 12345 }]) {
      const report = await ask(server, { memory });
      expect(
        report.findings.filter(({ wishes }) => wishes.includes('the wish')),
        JSON.stringify(memory),
      ).toHaveLength(1);
    }
    const none = await ask(server, { bytes: 0 });
    expect(findingIn(none, 'wish-refused')).toMatchObject({
      severity: 'ERROR',
      detail: expect.stringContaining('nbytes'),
    });
  });

  it('says what is still in the way of a pool that could not be had again, and when nothing is any more', async () => {
    const state = stateFolder();
    const host = plainHost(2 * GIB);
    onTestFinished(host.remove);
    const env = { HOSTPOOL_STATE_DIR: state, HOSTPOOL_HOST_ROOT: host.path };
    const first = await startServerForTest(env);
    const memory = { backing: 'ANONYMOUS', prefault: false };
    await first.data(ALLOCATE_BUFFER, { input: { name: 'scratch', nbytes: '1GiB', memory } });
    await first.stop();
    const little = 'MemTotal: 4194304 kB\nMemFree: 524288 kB\nMemAvailable: 524288 kB\n';
    host.set('proc/meminfo', little);
    const second = await startServerForTest(env);
    const failed = findingIn(await ask(second), 'wish-host-memory');
    expect(failed).toMatchObject({ severity: 'ERROR', title: expect.stringContaining('Host buffer "scratch"') });
    expect(failed.wishes).toEqual(['host buffer "scratch"']);
    const told = () => second.log.filter(({ finding }) => finding === 'wish-host-memory');
    await vi.waitFor(() => expect(told()).toHaveLength(1));
    host.set('proc/meminfo', little.replaceAll('524288', '4194304'));
    expect(findingIn(await ask(second), 'wish-met').title).toBe('Host buffer "scratch" can be had');
  });

  it('still answers when the host cannot be read', async () => {
    const { server, host } = await serverOn();
    host.set('proc/meminfo', 'nothing\n');
    const report = await ask(server);
    expect(findingIn(report, 'host-unreadable')).toMatchObject({
      severity: 'ERROR',
      detail: expect.stringContaining('meminfo'),
    });
    expect(report.canMeet).toBe(false);
  });

  it('names files of the kernel that it cannot use, and goes on', async () => {
    const { server } = await serverOn({
      'proc/sys/vm/max_map_count': 'many\n',
      'proc/sys/vm/overcommit_memory': '2\n',
    });
    const report = await ask(server);
    expect(findingIn(report, 'kernel-files').detail).toContain('proc/sys/vm/max_map_count cannot be understood');
    expect(report.findings.map(({ id }) => id)).not.toContain('mappings');
  });

  it('finds what the host is set to: the commit limit, swap, nodes that are left out', async () => {
    const { server } = await serverOn({
      'proc/meminfo':
        'MemTotal: 4194304 kB\nMemFree: 2097152 kB\nMemAvailable: 2097152 kB\nSwapTotal: 1048576 kB\nSwapFree: 524288 kB\n' +
        'CommitLimit: 3145728 kB\nCommitted_AS: 2097152 kB\n',
      'proc/sys/vm/overcommit_memory': '2\n',
      'sys/devices/system/node/online': '0-1\n',
      'sys/devices/system/node/node1/meminfo': 'Node 1 MemTotal: 1024 kB\nNode 1 MemFree: 1024 kB\n',
      'proc/self/status': 'Name:\tx\nMems_allowed_list:\t0\nCpus_allowed_list:\t0-1\n',
      'sys/kernel/mm/transparent_hugepage/enabled': 'always [madvise] never\n',
      'sys/kernel/mm/transparent_hugepage/shmem_enabled': 'always within_size advise [never] deny force\n',
    });
    const report = await ask(server, { bytes: '1.5GiB' });
    expect(findingIn(report, 'overcommit')).toMatchObject({ severity: 'ERROR', wishes: ['the wish'] });
    expect(findingIn(report, 'swap')).toMatchObject({
      severity: 'INFO',
      detail: expect.stringMatching(/^1 GiB of swap, 512 MiB used/),
    });
    expect(findingIn(report, 'numa-allowed')).toMatchObject({
      severity: 'WARNING',
      detail: expect.stringContaining('not from node 1'),
    });
    expect(findingIn(report, 'thp').commands[0]).toContain('shmem_enabled');
  });
});

it('a command that writes a file names one that the real kernel has', async () => {
  const server = await startServerForTest();
  const report = await ask(server, { bytes: '512TiB', memory: { backing: 'ANONYMOUS_HUGETLB' } });
  const files = report.findings
    .flatMap(({ commands }) => commands)
    .flatMap((text) => /\/sys\/\S+/.exec(text)?.[0] ?? []);
  expect(files.filter((file) => !existsSync(file))).toEqual([]);
});
