import { describe, expect, it } from 'vitest';
import { CREATE_PAGED, DESTROY_POOL } from '../testkit/graphql.js';
import { startServerForTest, type TestServer } from '../testkit/server.js';

const input = { name: 'large', layerNum: 2, numHostPages: 1024, itemBytes: '2MiB', slotPageSize: 1 };

describe('while a 4 GiB pool is faulted in', () => {
  it('{ version } keeps answering', async () => {
    const server = await startServerForTest();
    let done = false;
    const creating = server.data(CREATE_PAGED, { input }).finally(() => {
      done = true;
    });
    let answered = 0;
    let halfway = 0;
    while (!done) {
      const { version, pools } = await server.data(
        '{ version pools { state ... on V4PagedHostPool { progress { residentBytes totalBytes } } } }',
      );
      if (done) break;
      expect(version).toEqual(expect.any(String));
      answered += 1;
      const progress = pools[0]?.progress;
      if (
        pools[0]?.state === 'PREFAULTING' &&
        progress.residentBytes > 0 &&
        progress.residentBytes < progress.totalBytes
      )
        halfway += 1;
    }
    expect((await creating).createV4PagedPool).toMatchObject({
      state: 'READY',
      progress: { residentBytes: 2 ** 32, done: true },
    });
    expect(answered).toBeGreaterThan(20);
    expect(halfway).toBeGreaterThan(10);
  });

  it('requests that need memory of their own keep being answered, and while it is unmapped', async () => {
    const server = await startServerForTest();
    const idle = await answersWhile(server, Promise.all(Array.from({ length: 30 }, () => largeRequest(server))));
    const memory = { backing: 'ANONYMOUS' };
    const creating = server.data(CREATE_PAGED, { input: { ...input, memory } });
    const prefaulting = await answersWhile(server, creating);
    const { id, state } = (await creating).createV4PagedPool;
    expect(state).toBe('READY');
    const destroying = await answersWhile(server, server.data(DESTROY_POOL, { id }));
    expect(prefaulting.length).toBeGreaterThanOrEqual(5);
    expect(destroying.length).toBeGreaterThanOrEqual(1);
    // Both at once on a busy machine is slower than alone; a loop that stands still while pages come is far beyond this.
    for (const busy of [prefaulting, destroying]) expect(median(busy)).toBeLessThan(20 * median(idle));
  });
});

/** A request with 300 kB of variables: its body, its parsing and its lists take fresh memory of the process. */
async function largeRequest(server: TestServer): Promise<void> {
  const query = 'mutation($input: FreeSlotsInput!) { freeSlots(input: $input) { __typename } }';
  const indices = Array.from({ length: 50_000 }, (_, n) => 10_000 + n);
  expect(await server.data(query, { input: { pool: 'nobody', indices } })).toEqual({
    freeSlots: { __typename: 'NotFound' },
  });
}

/** How long each large request took, one after the other until `running` is done. */
async function answersWhile(server: TestServer, running: Promise<unknown>): Promise<number[]> {
  let done = false;
  const ended = running.finally(() => {
    done = true;
  });
  const took: number[] = [];
  while (!done) {
    const start = performance.now();
    await largeRequest(server);
    took.push(performance.now() - start);
  }
  await ended;
  return took;
}

function median(values: number[]): number {
  return [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN;
}
