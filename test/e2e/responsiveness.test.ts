import { describe, expect, it } from 'vitest';
import { CREATE_PAGED } from '../testkit/graphql.js';
import { startServerForTest } from '../testkit/server.js';

describe('while a 4 GiB pool is faulted in', () => {
  it('{ version } keeps answering', async () => {
    const server = await startServerForTest();
    const input = { name: 'large', layerNum: 2, numHostPages: 1024, itemBytes: '2MiB', slotPageSize: 1 };
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
});
