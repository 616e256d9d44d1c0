// A client that makes and gives back pools, buffers and reservations at random until it is told to stop (a line on standard
// input) or is killed. Tells a JSON object a line: {"pools": so many made} as it goes, {"surprise": an answer} for one that
// nothing explains. Arguments: the server's URL, a seed.
import { createInterface } from 'node:readline';

const [url, seedText] = process.argv.slice(2);
const EXPECTED = new Set([
  'V4PagedHostPool',
  'HostBuffer',
  'Reservation',
  'InsufficientHostMemory',
  'HostBufferAllocationFailed',
  'PoolDestroyed',
  'HostBufferFreed',
  'SlotAllocation',
  'SlotsFreed',
  'PoolNotReady',
  'NotFound',
  'LeaseExpired',
]);

let seed = Number(seedText) >>> 0;
const random = () => {
  seed = (Math.imul(seed, 1_664_525) + 1_013_904_223) >>> 0;
  return seed / 2 ** 32;
};
const upTo = (limit) => Math.floor(random() * limit);
const one = (of) => of[upTo(of.length)];
const tell = (line) => process.stdout.write(`${JSON.stringify(line)}\n`);

let stopped = false;
createInterface({ input: process.stdin }).once('line', () => {
  stopped = true;
});

/** Sends an operation of one field; its answer, or undefined when it was cut off on purpose. */
async function send(query, variables, cutAfterMs) {
  const signal = cutAfterMs === undefined ? undefined : AbortSignal.timeout(cutAfterMs);
  const body = JSON.stringify({ query, variables });
  try {
    const answer = await fetch(url, { method: 'POST', headers: { 'content-type': 'application/json' }, body, signal });
    const { data, errors } = await answer.json();
    const [result] = Object.values(data ?? {});
    if (errors !== undefined || !EXPECTED.has(result?.__typename)) tell({ surprise: { query, errors, result } });
    return result;
  } catch (error) {
    if (cutAfterMs !== undefined && error.name === 'TimeoutError') return undefined;
    throw error;
  }
}

const mutation = (field, input, selection) =>
  `mutation($input: ${input}!) { ${field}(input: $input) { __typename ${selection} } }`;
const byId = (field) => `mutation($id: ID!) { ${field}(id: $id) { __typename } }`;
const CREATE = mutation('createV4PagedPool', 'CreateV4PagedPoolInput', '... on V4PagedHostPool { id }');
const BUFFER = mutation('allocateHostBuffer', 'AllocateHostBufferInput', '... on HostBuffer { id }');
const RESERVE = mutation('reserveHostMemory', 'ReserveHostMemoryInput', '... on Reservation { id }');
const TAKE = mutation('allocateSlots', 'AllocateSlotsInput', '... on SlotAllocation { ranges { start count } }');

function memory() {
  return {
    backing: one(['ANONYMOUS', 'ANONYMOUS_SHM', 'ANONYMOUS_HUGETLB', 'ANONYMOUS_SHM_HUGETLB']),
    onHugepageShortage: one(['FAIL', 'FALL_BACK']),
    numaNode: one([-1, -1, 0]),
    numaPolicy: 'BIND',
    transparentHugepages: one(['DEFAULT', 'ALWAYS', 'NEVER']),
    lockMemory: random() < 0.1,
    prefault: random() < 0.9,
  };
}

async function pool() {
  const input = {
    name: `churn-${process.pid}-${upTo(2 ** 31)}`,
    layerNum: 1 + upTo(4),
    numHostPages: 1 + upTo(96),
    itemBytes: one([4096, 65_536, 131_072]),
    slotPageSize: 64,
    layout: one(['LAYER_FIRST', 'PAGE_FIRST', 'PAGE_FIRST_DIRECT']),
    memory: memory(),
    wait: random() < 0.6,
  };
  // One that is cut off is made all the same: whoever cleans up finds it by its name.
  const made = await send(CREATE, { input }, random() < 0.1 ? 1 + upTo(20) : undefined);
  if (made?.id === undefined) return;
  tell({ pools: 1 });
  if (random() < 0.3) await send(TAKE, { input: { pool: made.id, needSize: 64 } });
  if (random() < 0.95) await send(byId('destroyPool'), { id: made.id });
}

async function buffer() {
  const made = await send(BUFFER, { input: { nbytes: 1 + upTo(2 ** 24), memory: memory(), wait: random() < 0.5 } });
  if (made?.id !== undefined) await send(byId('freeHostBuffer'), { id: made.id });
}

async function reservation() {
  const made = await send(RESERVE, { input: { bytes: 1 + upTo(2 ** 24), holder: 'churn', pid: process.pid } });
  if (made?.id !== undefined && random() < 0.5) await send(byId('releaseReservation'), { id: made.id });
}

while (!stopped) {
  await one([pool, pool, pool, buffer, reservation])();
}
// Standard input is open still, and would keep the process.
process.exit(0);
