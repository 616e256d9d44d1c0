import { rmSync } from 'node:fs';
import { expect, it, onTestFinished } from 'vitest';
import { RESERVE } from '../../testkit/graphql.js';
import { plainHost } from '../../testkit/host-root.js';
import { startServer, stateFolder, type TestServer } from '../../testkit/server.js';
import { Model, show } from './model.js';
import { randomOf, Stream } from './stream.js';

/** CI asks for 200. */
const ROUNDS = Number(process.env.TEST_CRASHES ?? 50);
const CLIENTS = 6;
/** The latest moment of a kill after the first mutation, in milliseconds. */
const LATEST_MS = 60;

it(`loses nothing acknowledged and keeps nothing half in ${ROUNDS} kills`, { timeout: 2_400_000 }, async () => {
  const seed = Number(process.env.TEST_SEED ?? Date.now() % 2 ** 31);
  console.log(`TEST_SEED=${seed}`);
  const random = randomOf(seed);
  const [folder, host] = [stateFolder(), plainHost(2 ** 36)];
  onTestFinished(() => {
    rmSync(folder, { recursive: true, force: true });
    host.remove();
  });
  const env = { HOSTPOOL_STATE_DIR: folder, HOSTPOOL_HOST_ROOT: host.path };
  const model = new Model();
  const streams = Array.from({ length: CLIENTS }, (_, n) => new Stream(model, random, `${'abcdefgh'[n]}-`));
  for (let round = 0; round < ROUNDS; round += 1) {
    // It refuses to start on a file that does not pass its integrity check.
    const server = await startServer(env);
    await repeatAnswers(server, streams, random);
    model.check(await show(server));
    setTimeout(() => server.child.kill('SIGKILL'), random() * LATEST_MS);
    await Promise.all(streams.map((stream) => stream.untilItDies(server)));
    await server.exit;
  }
  const server = await startServer(env);
  await repeatAnswers(server, streams, random);
  model.check(await show(server));
  expect(await server.stop()).toEqual({ code: 0, signal: null });
});

/** A repeat is answered with what the key made, or makes it now: never twice. */
async function repeatAnswers(server: TestServer, streams: Stream[], random: () => number): Promise<void> {
  for (const { answered } of streams) {
    for (const [key, { input, id }] of answered) {
      if (id !== undefined && random() > 0.02) continue;
      const { reserveHostMemory: again } = await server.data(RESERVE, { input });
      expect(again.__typename).toBe('Reservation');
      if (id !== undefined) expect(again.id).toBe(id);
      answered.set(key, { input, id: again.id });
    }
  }
}
