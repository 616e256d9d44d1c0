import { CREATE_BUDGET, CREATE_GROUP, DESTROY_POOL } from './graphql.js';
import type { TestServer } from './server.js';

const MIB = 2 ** 20;
let names = 0;

/** A name that no group has had. */
export const newName = () => `group-${++names}`;

// biome-ignore lint/suspicious/noExplicitAny: answers are as dynamic as the queries that tests write
type Answer = any;

/** Asks for a group. */
export const createGroup = (on: TestServer, input: object): Promise<Answer> => on.only(CREATE_GROUP, { input });

/** Destroys a pool. */
export const destroyPool = (on: TestServer, id: string): Promise<Answer> => on.only(DESTROY_POOL, { id });

/** Destroys the pools of a group, and its anchor. */
export async function destroyGroup(on: TestServer, { anchor, pools }: Answer): Promise<void> {
  for (const { id } of [anchor, ...pools]) await destroyPool(on, id);
}

/** A budget with this cap, so that a test is alone with it. */
export async function budgetOf(on: TestServer, requestedBytes: number): Promise<string> {
  return (await on.only(CREATE_BUDGET, { input: { name: newName(), requestedBytes } })).name;
}

/** Two pools, the second with half a page for each page of the anchor. */
export function twoPools(name = newName()) {
  const first = { name: `${name}-a`, layerNum: 2, itemBytes: MIB, slotPageSize: 64 };
  const second = { name: `${name}-b`, layerNum: 3, itemBytes: 65536, slotPageSize: 256 };
  return [first, { ...second, layout: 'PAGE_FIRST', pagesPerAnchorPage: 0.5 }];
}

/** What two pools take beside so many pages of the anchor. */
export const mappedOf = (pages: number) => pages * 2 * MIB + Math.ceil(pages / 2) * 3 * 65536;

/** Pools that take a while to fault in. */
export const slowPools = (name: string) =>
  [0, 1, 2].map((n) => ({ name: `${name}-${n}`, layerNum: 1, itemBytes: 2 * MIB, slotPageSize: 1 }));
