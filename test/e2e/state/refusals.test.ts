import { once } from 'node:events';
import { readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { CREATE_BUDGET } from '../../testkit/graphql.js';
import { spawnMain, startServerForTest, stateFolder } from '../../testkit/server.js';

const USER_VERSION_AT = 60;
const PAGE = 4096;

function folder(): { path: string; file: string } {
  const path = stateFolder();
  onTestFinished(() => rmSync(path, { recursive: true, force: true }));
  return { path, file: join(path, 'hostpool.sqlite3') };
}

/** A state file with something in it, as an orderly stop leaves it. */
async function stateFile(): Promise<Buffer> {
  const { path, file } = folder();
  const server = await startServerForTest({ HOSTPOOL_STATE_DIR: path });
  for (let n = 0; n < 200; n += 1)
    await server.data(CREATE_BUDGET, { input: { name: `budget-${n}`, requestedBytes: n } });
  await server.stop();
  return readFileSync(file);
}

async function refusal(path: string): Promise<{ code: number; err: string }> {
  const child = spawnMain([], { HOSTPOOL_STATE_DIR: path, HOSTPOOL_PORT: '0' });
  let err = '';
  child.stderr?.on('data', (chunk) => {
    err += chunk;
  });
  const [code] = await once(child, 'close');
  return { code, err };
}

describe('a state file that is not to be trusted is refused, and left as it is:', () => {
  const cases: [string, (whole: Buffer) => Buffer, RegExp][] = [
    ['one of 0 bytes', () => Buffer.alloc(0), /is empty/],
    [
      'one of random bytes',
      (whole) => Buffer.from(whole.map((byte, at) => byte ^ (at * 167 + 91))),
      /is not a state file of hostpool/,
    ],
    [
      'one of a newer schema version',
      (whole) => {
        whole.writeUInt32BE(99, USER_VERSION_AT);
        return whole;
      },
      /has schema version 99; this hostpool knows versions up to 1/,
    ],
    ['one with a page overwritten', (whole) => whole.fill(0x5a, 2 * PAGE, 2 * PAGE + 100), /is damaged/],
    ['one that was cut off', (whole) => whole.subarray(0, whole.length - PAGE), /is damaged/],
  ];
  for (const [name, spoil, message] of cases) {
    it(name, async () => {
      const { path, file } = folder();
      const spoiled = spoil(await stateFile());
      writeFileSync(file, spoiled);
      const { code, err } = await refusal(path);
      expect(code).toBe(1);
      expect(err).toMatch(message);
      expect(err).toMatch(/[Mm]ove it /);
      expect(err.trim().split('\n')).toHaveLength(1);
      expect(readFileSync(file).equals(spoiled)).toBe(true);
      renameSync(file, `${file}.away`);
      const anew = await startServerForTest({ HOSTPOOL_STATE_DIR: path });
      expect((await anew.data('{ budgets { name } }')).budgets).toEqual([{ name: 'host' }]);
    });
  }

  it('one that another hostpool has open', async () => {
    const { path } = folder();
    const first = await startServerForTest({ HOSTPOOL_STATE_DIR: path });
    expect(await refusal(path)).toMatchObject({ code: 1, err: expect.stringContaining('in use by another hostpool') });
    expect((await first.data('{ version }')).version).toBeDefined();
  });
});
