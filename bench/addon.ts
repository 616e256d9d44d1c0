// What a slot operation costs through the addon, beside the obvious rival in JS: an array used as a free list, which
// hands out pages one by one and loses their neighbourhood. Medians of warmed batches, the two taking turns.
import { HostAllocator, HostState, type SlotRange } from '../native/index.js';

const BATCH = 200;
const WARM_BATCHES = 10;
const BATCHES = 51;
const PAGE_SIZE = 64;

/** Pages taken and given back; `runs` is how many pieces the last request came in. */
interface Pages {
  pair(pages: number): number;
}

const allocator = new HostAllocator({ hostRoot: '/', reserveBytes: 0 }, new HostState());

console.log('slots through the addon, ns for taking pages and giving them back (runs handed out)');
console.log(
  `${'pool pages'.padEnd(12)}${'taken'.padEnd(12)}${'pages'.padEnd(8)}${'hostpool'.padEnd(20)}array free list`,
);
for (const pageCount of [65_536, 1_000_000]) {
  for (const [name, isFree] of fills()) {
    const rivals = [addonPool(pageCount, isFree), freeList(pageCount, isFree)];
    for (const pages of [1, 16, 256]) {
      const [ours, list] = compare(rivals, pages).map(({ ns, runs }) => `${ns.toFixed(0)} (${runs})`);
      console.log(
        `${String(pageCount).padEnd(12)}${name.padEnd(12)}${String(pages).padEnd(8)}${ours?.padEnd(20)}${list}`,
      );
    }
  }
}

/** Which pages are free: all, a random half, a random tenth. */
function fills(): [string, () => boolean][] {
  let seed = 7;
  const random = () => {
    seed = (Math.imul(seed, 1_664_525) + 1_013_904_223) >>> 0;
    return seed / 2 ** 32;
  };
  return [
    ['empty', () => true],
    ['half', () => random() < 0.5],
    ['90 %', () => random() < 0.1],
  ];
}

function addonPool(pageCount: number, isFree: () => boolean): Pages {
  const pool = allocator.createLogicalHostPool({ size: pageCount * PAGE_SIZE, pageSize: PAGE_SIZE });
  if ('kind' in pool) throw new Error(pool.message);
  expectRanges(pool.allocateSlots(pageCount * PAGE_SIZE));
  const free = pagesWhere(pageCount, isFree).map((page) => ({ start: page * PAGE_SIZE, count: PAGE_SIZE }));
  pool.freeRanges(free);
  return {
    pair: (pages) => {
      const ranges = expectRanges(pool.allocateSlots(pages * PAGE_SIZE));
      pool.freeRanges(ranges);
      return ranges.length;
    },
  };
}

function freeList(pageCount: number, isFree: () => boolean): Pages {
  const free = pagesWhere(pageCount, isFree).sort((a, b) => ((a * 7_919) % 10_007) - ((b * 7_919) % 10_007));
  return {
    pair: (pages) => {
      const taken = free.splice(free.length - pages, pages);
      for (const page of taken) free.push(page);
      return taken.filter((page, index) => index === 0 || page !== (taken[index - 1] ?? 0) + 1).length;
    },
  };
}

function pagesWhere(pageCount: number, isFree: () => boolean): number[] {
  return Array.from({ length: pageCount }, (_, page) => page).filter(isFree);
}

function compare(rivals: Pages[], pages: number): { ns: number; runs: number }[] {
  const times = rivals.map((): number[] => []);
  for (let batch = 0; batch < WARM_BATCHES + BATCHES; batch += 1) {
    for (const [index, rival] of rivals.entries()) times[index]?.push(timeBatch(rival, pages));
  }
  return rivals.map((rival, index) => ({
    ns: median(times[index]?.slice(WARM_BATCHES) ?? []),
    runs: rival.pair(pages),
  }));
}

function timeBatch(rival: Pages, pages: number): number {
  const start = process.hrtime.bigint();
  for (let n = 0; n < BATCH; n += 1) rival.pair(pages);
  return Number(process.hrtime.bigint() - start) / BATCH;
}

function median(times: number[]): number {
  return times.sort((a, b) => a - b)[Math.floor(times.length / 2)] ?? Number.NaN;
}

function expectRanges(outcome: SlotRange[] | { message: string }): SlotRange[] {
  if (Array.isArray(outcome)) return outcome;
  throw new Error(outcome.message);
}
