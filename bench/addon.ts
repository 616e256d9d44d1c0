// What a slot operation costs through the addon: taking pages and giving them back, medians of warmed batches.
import { HostAllocator, type LogicalHostPool } from '../native/index.js';

const BATCH = 500;
const WARM_BATCHES = 20;
const BATCHES = 101;

const allocator = new HostAllocator({ hostRoot: '/', reserveBytes: 0 });

console.log('slots through the addon, ns for taking and giving back (median of batches)');
for (const pageCount of [65_536, 1_000_000]) {
  for (const occupied of [0, 0.5, 0.9]) {
    const pool = openPool(pageCount, occupied);
    const figures = [1, 16, 256].map((pages) => `${pages} pages ${median(pool, pages).toFixed(0)} ns`);
    console.log(`${pageCount.toLocaleString('en')} pages, ${occupied * 100} % full: ${figures.join(', ')}`);
  }
}

/** A pool of one-slot pages with that share of it taken. */
function openPool(pageCount: number, occupied: number): LogicalHostPool {
  const pool = allocator.createLogicalHostPool({ size: pageCount, pageSize: 1 });
  if ('kind' in pool) throw new Error(pool.message);
  if (occupied > 0) expectRanges(pool.allocateSlots(Math.floor(pageCount * occupied)));
  return pool;
}

function median(pool: LogicalHostPool, pages: number): number {
  const times = Array.from({ length: WARM_BATCHES + BATCHES }, () => timeBatch(pool, pages)).slice(WARM_BATCHES);
  return times.sort((a, b) => a - b)[Math.floor(BATCHES / 2)] ?? Number.NaN;
}

function timeBatch(pool: LogicalHostPool, pages: number): number {
  const start = process.hrtime.bigint();
  for (let n = 0; n < BATCH; n += 1) pool.freeRanges(expectRanges(pool.allocateSlots(pages)));
  return Number(process.hrtime.bigint() - start) / BATCH;
}

function expectRanges<T extends object>(outcome: T[] | { message: string }): T[] {
  if (Array.isArray(outcome)) return outcome;
  throw new Error(outcome.message);
}
