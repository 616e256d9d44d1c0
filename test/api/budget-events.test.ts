import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { BudgetFeed, begin, EVENTS } from '../testkit/budget-feed.js';
import {
  ALLOCATE_BUFFER,
  CREATE_BUDGET,
  CREATE_PAGED,
  DESTROY_POOL,
  FREE_BUFFER,
  RELEASE,
  RESERVE,
  UPDATE_BUDGET,
} from '../testkit/graphql.js';
import { type FakeHost, hugepageFiles, plainHost } from '../testkit/host-root.js';
import { idleProcess } from '../testkit/process.js';
import { startServer, startServerForTest, type TestServer } from '../testkit/server.js';
import { all, type OpenStream, transports } from '../testkit/streams.js';

const MIB = 2 ** 20;
const GIB = 2 ** 30;
let host: FakeHost;
let server: TestServer;
let names = 0;
const newName = () => `events-${++names}`;

beforeAll(async () => {
  host = plainHost(20 * GIB, hugepageFiles('sys/kernel/mm', 0, 0));
  server = await startServer({ HOSTPOOL_HOST_ROOT: host.path });
});
afterAll(async () => {
  expect(await charged()).toBe(0);
  expect(await server.stop()).toEqual({ code: 0, signal: null });
  host.remove();
});

// biome-ignore lint/suspicious/noExplicitAny: answers are as dynamic as the queries that tests write
type Answer = any;
const only = (query: string, variables: unknown): Promise<Answer> => server.only(query, variables);
const reserve = (input: object) => only(RESERVE, { input: { bytes: MIB, holder: 'engine', ...input } });
const release = (id: string) => only(RELEASE, { id });
const pool = (input: object) => only(CREATE_PAGED, { input: { name: newName(), ...shape, ...input } });
const destroy = (id: string) => only(DESTROY_POOL, { id });
const buffer = (input: object) => only(ALLOCATE_BUFFER, { input });
const newBudget = async (input: object): Promise<string> =>
  (await only(CREATE_BUDGET, { input: { name: newName(), ...input } })).name;
const setClosed = (name: string, admissionClosed: boolean | null) =>
  only(UPDATE_BUDGET, { input: { name, admissionClosed } });
const charged = async (): Promise<number> => (await server.data('{ budget { chargedBytes } }')).budget.chargedBytes;
const shape = { layerNum: 2, numHostPages: 3, itemBytes: 5000, slotPageSize: 8 };

async function follow(open: OpenStream, budget?: string, rank?: number): Promise<BudgetFeed> {
  const feed = new BudgetFeed(open, server, budget);
  await begin(server, [feed], budget, rank);
  return feed;
}

/** What every event of a decision that weighed nothing says. */
const unweighed = { availableBytes: null, limitedBy: null };

describe.each(transports)('budgetEvents over %s', (_transport, open) => {
  it('shows a pool charged and destroyed, with the figures of its answers', async () => {
    const budget = await newBudget({ requestedBytes: GIB, ranks: 2 });
    const feed = await follow(open, budget, 1);
    const made = await pool({ budget, rank: 1 });
    const gone = await destroy(made.id);
    const [grant, end] = await feed.take(2);
    const what = {
      budget,
      rank: 1,
      claimant: { kind: 'POOL', name: made.name, pid: null },
      hugepageSize: null,
      numaNode: -1,
      requestedBytes: made.requestedBytes,
      mappedBytes: made.memory.mappedBytes,
      closedBudget: null,
      missed: 0,
    };
    expect(made.memory.mappedBytes).toBeGreaterThan(made.requestedBytes);
    expect(grant).toMatchObject({
      ...what,
      kind: 'CHARGED',
      availableBytes: GIB / 2,
      limitedBy: 'RANK_SHARE',
      chargedBytes: made.memory.mappedBytes,
      hostChargedBytes: made.memory.mappedBytes,
    });
    expect(end).toMatchObject({ ...what, ...unweighed, kind: 'RELEASED', chargedBytes: 0, hostChargedBytes: 0 });
    expect(end.mappedBytes).toBe(gone.releasedBytes);
    expect(end.sequence).toBe(grant.sequence + 1);
    expect(Date.parse(end.at)).toBeGreaterThanOrEqual(Date.parse(grant.at));
    await feed.end();
  });

  it('shows buffers with and without a name, and what else is held', async () => {
    const held = await reserve({ bytes: GIB });
    const feed = await follow(open);
    const claimed = [];
    for (const name of ['staging', null]) {
      const made = await buffer({ name, nbytes: 5 });
      await only(FREE_BUFFER, { id: made.id });
      const [grant, end] = await feed.take(2);
      claimed.push(grant.claimant, end.claimant);
      expect(grant).toMatchObject({ kind: 'CHARGED', requestedBytes: 5, mappedBytes: made.memory.mappedBytes });
      expect(grant).toMatchObject({ availableBytes: 19 * GIB, limitedBy: 'HOST_MEMORY' });
      expect(grant.hostChargedBytes).toBe(GIB + made.memory.mappedBytes);
      expect(end).toMatchObject({ kind: 'RELEASED', chargedBytes: GIB, hostChargedBytes: GIB });
    }
    const [named, nameless] = [{ kind: 'HOST_BUFFER', name: 'staging', pid: null }, { name: null }];
    expect(claimed).toMatchObject([named, named, nameless, nameless]);
    await release(held.id);
    await feed.end();
  });

  it('shows how a reservation ends: released, expired, or its process killed', async () => {
    const budget = await newBudget({ requestedBytes: GIB });
    const feed = await follow(open, budget);
    const holder = await idleProcess();
    const tied = await reserve({ budget, bytes: 2 * MIB, pid: holder.pid, holder: 'rank 0' });
    await holder.kill();
    const [, died] = await feed.take(2);
    expect(died).toMatchObject({ ...unweighed, kind: 'OWNER_DIED', mappedBytes: tied.bytes, chargedBytes: 0 });
    expect(died.claimant).toEqual({ kind: 'RESERVATION', name: 'rank 0', pid: holder.pid });
    await reserve({ budget, bytes: 5000, ttlSeconds: 1, holder: 'short' });
    const [, expired] = await feed.take(2);
    expect(expired).toMatchObject({ ...unweighed, kind: 'EXPIRED', requestedBytes: 5000, mappedBytes: 8192 });
    expect(expired.claimant).toEqual({ kind: 'RESERVATION', name: 'short', pid: null });
    await release((await reserve({ budget })).id);
    expect(await feed.take(2)).toMatchObject([{ kind: 'CHARGED' }, { kind: 'RELEASED', chargedBytes: 0 }]);
    await feed.end();
  });

  it('shows refusals by cap, share and host, with the figures that the caller is told', async () => {
    const [capped, split] = [await newBudget({ requestedBytes: 16 * MIB }), await newBudget({ ranks: 2 })];
    const feed = await follow(open);
    const refusals = [
      await reserve({ budget: capped, bytes: 17 * MIB }),
      await buffer({ budget: split, rank: 1, nbytes: 11 * GIB }),
      await reserve({ bytes: 21 * GIB }),
    ];
    const events = await feed.take(3);
    expect(events.map(({ limitedBy }) => limitedBy)).toEqual(['BUDGET_CAP', 'RANK_SHARE', 'HOST_MEMORY']);
    for (const [n, { requestedBytes, availableBytes, limitedBy, budget, rank }] of refusals.entries()) {
      const figures = { mappedBytes: requestedBytes, availableBytes, limitedBy, budget, rank };
      expect(events[n]).toMatchObject({ ...figures, kind: 'REFUSED', closedBudget: null, chargedBytes: 0 });
    }
    const short = await pool({ itemBytes: '10GiB' });
    const { requestedBytes, availableBytes, limitedBy, budget, rank } = short;
    const figures = { requestedBytes, availableBytes, limitedBy, budget, rank };
    const refused = await feed.next();
    expect(refused).toMatchObject({ ...figures, kind: 'REFUSED', claimant: { kind: 'POOL' } });
    expect(refused.mappedBytes - refused.availableBytes).toBe(short.shortfallBytes);
    await feed.end();
  });

  it('names the budget whose admission is closed, be it the one asked or host', async () => {
    const budget = await newBudget({});
    const feed = await follow(open, budget);
    for (const closedBudget of [budget, 'host']) {
      await setClosed(closedBudget, true);
      const refused = await reserve({ budget });
      await setClosed(closedBudget, null);
      expect(refused).toMatchObject({ code: 'BUDGET_ADMISSION_CLOSED', budget: closedBudget });
      const figures = { requestedBytes: MIB, mappedBytes: MIB, chargedBytes: 0, hostChargedBytes: 0 };
      expect(await feed.next()).toMatchObject({ ...unweighed, ...figures, kind: 'REFUSED', budget, closedBudget });
    }
    await feed.end();
  });

  it('shows a fall-back from hugepages as refused, then charged', async () => {
    const feed = await follow(open);
    const memory = { backing: 'ANONYMOUS_HUGETLB', onHugepageShortage: 'FALL_BACK' };
    const made = await pool({ memory });
    expect(made.memory.fellBack).toBe(true);
    await destroy(made.id);
    expect(await feed.take(3)).toMatchObject([
      { kind: 'REFUSED', limitedBy: 'HUGEPAGES', hugepageSize: 2 * MIB, mappedBytes: 4 * MIB, availableBytes: 0 },
      { kind: 'CHARGED', limitedBy: 'HOST_MEMORY', hugepageSize: null, mappedBytes: made.memory.mappedBytes },
      { kind: 'RELEASED', hugepageSize: null, mappedBytes: made.memory.mappedBytes },
    ]);
    await feed.end();
  });

  it('shows what was charged and could not be faulted in as charged, then released', async () => {
    const budget = await newBudget({});
    const feed = await follow(open, budget);
    const made = await pool({ budget, layerNum: 1, numHostPages: 512, itemBytes: '2MiB', wait: false });
    await destroy(made.id);
    expect(await feed.take(2)).toMatchObject([
      { kind: 'CHARGED', mappedBytes: GIB, chargedBytes: GIB },
      { kind: 'RELEASED', mappedBytes: GIB, chargedBytes: 0 },
    ]);
    await feed.end();
  });

  it('shows one budget its own events alone, under the numbers that all see', async () => {
    const [mine, other] = [await newBudget({}), await newBudget({})];
    const feeds = [new BudgetFeed(open, server), new BudgetFeed(open, server, mine)] as const;
    await begin(server, [...feeds], mine);
    for (const budget of [other, mine, 'host', mine]) await release((await reserve({ budget })).id);
    const everyone = await feeds[0].take(8);
    expect(everyone.map(({ budget }) => budget)).toEqual([other, mine, 'host', mine].flatMap((name) => [name, name]));
    const sequences = everyone.map(({ sequence }) => sequence);
    expect(sequences).toEqual(sequences.map((_, n) => sequences[0] + n));
    expect(await feeds[1].take(4)).toEqual(everyone.filter(({ budget }) => budget === mine));
    for (const feed of feeds) await feed.end();
  });

  it('of an unknown budget is an error', async () => {
    for (const budget of ['nobody', '']) {
      const [result] = await all(open(server.url, EVENTS, { budget }));
      expect(result.errors).toMatchObject([{ extensions: { code: 'NOT_FOUND', id: budget } }]);
      expect(result.errors[0].message).toBe(`There is no budget "${budget}".`);
    }
  });

  it('ends at a shutdown', async () => {
    const own = await startServerForTest({ HOSTPOOL_HOST_ROOT: host.path });
    const feeds = Array.from({ length: 10 }, () => new BudgetFeed(open, own));
    await begin(own, feeds);
    const next = feeds.map((feed) =>
      feed.next().then(
        () => 'another event',
        () => 'the end',
      ),
    );
    expect(await own.stop()).toEqual({ code: 0, signal: null });
    expect(await Promise.all(next)).toEqual(feeds.map(() => 'the end'));
  });

  it('shows each of a hundred readers everything, in order', async () => {
    const budget = await newBudget({});
    const feeds = Array.from({ length: 100 }, () => new BudgetFeed(open, server, budget));
    await begin(server, feeds, budget);
    for (let n = 0; n < 25; n += 1) await release((await reserve({ budget, holder: `engine ${n}` })).id);
    const seen = await Promise.all(feeds.map((feed) => feed.take(50)));
    const [first] = seen;
    expect(first?.map(({ claimant, missed }) => [claimant.name, missed])).toEqual(
      Array.from({ length: 50 }, (_, n) => [`engine ${Math.floor(n / 2)}`, 0]),
    );
    for (const events of seen) expect(events).toEqual(first);
    await Promise.all(feeds.map((feed) => feed.end()));
  });
});
