import { setInterval } from 'node:timers/promises';
import { beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest';
import { type MemoryCgroup, makeMemoryCgroup } from '../../testkit/memory-cgroup.js';
import { type LogLine, startServerForTest, type TestServer } from '../../testkit/server.js';
import { buildClient, type Client, startClient } from './client.js';
import { peakOfHoldings } from './holdings.js';
import { Observer } from './observer.js';

const MIB = 2 ** 20;
const LIMIT = 2 * 2 ** 30;
/** For what is not asked for: the server's own heap, the clients' stacks and page tables. */
const RESERVE = 128 * MIB;
const CLIENTS = 16;
/** On average 1.5 times the limit when all of them ask. */
const mebibytes = { from: 128, to: 256 };
const DEATHS = 30;
const BEAT_MS = 25;
/** From one death to the next. */
const beats = { from: 2, to: 20 };
/** It goes on until there was so much of each: without, it would have shown nothing. */
const AT_LEAST = { granted: 60, refused: 60, dropped: 20 };
/** What the machine must have beside the limit for the limit to be what is tight. */
const MARGIN = 2 ** 30;
/** How long after its death a holder's memory may still be counted. */
const FREED_WITHIN_MS = 1000;

let program: string;
beforeAll(() => {
  program = buildClient();
}, 600_000);

describe('sixteen processes that ask for 1.5 times what their cgroup allows', () => {
  it('are granted no more than there is, and never killed by the kernel; the dead give back, the living keep', async (context) => {
    const cgroup = makeMemoryCgroup(LIMIT);
    if (typeof cgroup === 'string') return skip(context, cgroup);
    const server = await startServerForTest({ HOSTPOOL_RESERVE: String(RESERVE) }, cgroup.command);
    const looser = await otherLimit(server, cgroup);
    if (looser !== undefined) return skip(context, looser);

    const seed = Number(process.env.TEST_SEED ?? Date.now() % 2 ** 31);
    const { clients, observer } = await run({ server, cgroup, random: randomFrom(seed), seed });
    const told = clients.flatMap((client) => client.told);
    const peak = peakOfHoldings(clients);
    const most = LIMIT - RESERVE - observer.leastOwnBytes;
    const slowest = Math.max(...observer.deaths.map(({ seenForMs }) => seenForMs));
    console.log(
      `seed ${seed}: ${JSON.stringify(countOf(clients))}; at most ${mib(peak.bytes)} of ${mib(most)} held, ` +
        `${mib(cgroup.peakBytes())} in the cgroup; what the dead held was counted for up to ${slowest} ms`,
    );

    expect(cgroup.oomKills()).toBe(0);
    expect(told.filter(({ event }) => event === 'surprise')).toEqual([]);
    expect(await exitsOfTheLiving(clients)).toEqual(Array(CLIENTS).fill(0));
    expect(peak.bytes).toBeLessThanOrEqual(most);
    expect(peak.bytes).toBeGreaterThan(0.6 * LIMIT);
    expect(slowest).toBeLessThanOrEqual(FREED_WITHIN_MS);
    await vi.waitFor(() => expectEndsOf(clients, server.log));
  });
});

interface Experiment {
  readonly server: TestServer;
  readonly cgroup: MemoryCgroup;
  readonly random: () => number;
  readonly seed: number;
}

/** Has the clients ask until enough of them have been killed; then they give everything back, and nothing is left. */
async function run({ server, cgroup, random, seed }: Experiment) {
  const clients: Client[] = [];
  const observer = new Observer(server);
  const start = () => {
    const options = { program, command: cgroup.command, url: server.url, seed: seed + clients.length, mebibytes };
    const client = startClient(options);
    clients.push(client);
    onTestFinished(async () => {
      if (client.killedAt === undefined) client.kill();
      await client.exit;
    });
  };
  for (let n = 0; n < CLIENTS; n += 1) start();
  let untilNext = beats.to;
  for await (const _ of setInterval(BEAT_MS)) {
    expect(cgroup.oomKills(), 'processes killed by the kernel').toBe(0);
    expect(alive(clients).filter(({ diedAt }) => diedAt !== undefined)).toEqual([]);
    await observer.look();
    untilNext -= 1;
    if (untilNext <= 0 && observer.deaths.length < DEATHS) {
      observer.kill(alive(clients)[Math.floor(random() * CLIENTS)] as Client);
      start();
      untilNext = beats.from + Math.floor(random() * (beats.to - beats.from));
    }
    if (observer.deaths.length === DEATHS && observer.settled && isEnough(clients)) break;
  }
  for (const client of alive(clients)) client.stop();
  await Promise.all(clients.map(({ exit }) => exit));
  await nothingIsLeft(server, observer);
  return { clients, observer };
}

async function nothingIsLeft(server: TestServer, observer: Observer): Promise<void> {
  await vi.waitFor(
    async () => {
      await observer.look();
      const query = '{ reservations { id } pools { id } budget { chargedBytes } }';
      expect(await server.data(query)).toEqual({ reservations: [], pools: [], budget: { chargedBytes: 0 } });
    },
    { timeout: 30_000, interval: BEAT_MS },
  );
}

function isEnough(clients: readonly Client[]): boolean {
  const counts = countOf(clients);
  return Object.entries(AT_LEAST).every(([event, least]) => (counts[event] ?? 0) >= least);
}

/** How often each thing happened. */
function countOf(clients: readonly Client[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const { event } of clients.flatMap(({ told }) => told)) counts[event] = (counts[event] ?? 0) + 1;
  return counts;
}

function alive(clients: readonly Client[]): Client[] {
  return clients.filter(({ killedAt }) => killedAt === undefined);
}

async function exitsOfTheLiving(clients: readonly Client[]): Promise<(number | null)[]> {
  return Promise.all(alive(clients).map(({ exit }) => exit));
}

/** What the log says of each end: a holder's death ends all that it held, and nothing of anybody else. */
function expectEndsOf(clients: readonly Client[], log: readonly LogLine[]): void {
  const ends = log.filter(({ msg }) => msg === 'reservation ended');
  const dead = clients.filter(({ killedAt }) => killedAt !== undefined);
  const ofTheDead = ends.filter(({ reason }) => reason === 'OwnerDied');
  expect(ends.filter(({ reason }) => reason !== 'OwnerDied' && reason !== 'Released')).toEqual([]);
  expect(ofTheDead.filter(({ pid }) => !dead.some((client) => client.pid === pid))).toEqual([]);
  for (const { id, bytes } of dead.flatMap(heldAtDeath))
    expect(ofTheDead).toContainEqual(expect.objectContaining({ id, bytes }));
}

/** The reservations that a client knew of and had not given back. */
function heldAtDeath({ told }: Client): { id: string; bytes: number }[] {
  const held = new Map<string, number>();
  for (const line of told) {
    if (line.event === 'granted' && line.id.startsWith('reservation_')) held.set(line.id, line.bytes);
    if (line.event === 'released') held.delete(line.id);
  }
  return [...held].map(([id, bytes]) => ({ id, bytes }));
}

/** Why the cgroup's limit is not what the server goes by. */
async function otherLimit(server: TestServer, { path }: MemoryCgroup): Promise<string | undefined> {
  const { host } = await server.data('{ host { memAvailable cgroup { path limit } } }');
  if (host.cgroup?.path !== path) return `another memory cgroup is tighter: ${JSON.stringify(host.cgroup)}`;
  if (host.memAvailable < LIMIT + MARGIN) return `the machine has ${mib(host.memAvailable)} available only`;
  return undefined;
}

function skip(context: { skip(reason: string): void }, reason: string): void {
  console.log(`SKIPPED: ${reason}`);
  context.skip(reason);
}

function mib(bytes: number): string {
  return `${Math.round(bytes / MIB)} MiB`;
}

/** Numbers from 0 to 1, the same ones for the same seed. */
function randomFrom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}
