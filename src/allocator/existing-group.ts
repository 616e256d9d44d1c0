import { isFailure, nameTaken, type Outcome } from './failure.js';
import type { Holder } from './names.js';
import type { PoolEntry } from './pool.js';
import {
  anchorOf,
  type CreatePoolGroupRequest,
  firstFailure,
  groupMembers,
  groupOf,
  type PoolGroup,
} from './pool-group.js';
import { differences } from './specification.js';

/** Who has each name of a group, the anchor's last; undefined where it is free. */
export type Holders = (Holder<PoolEntry> | undefined)[];

/** What a create answers when some of its names are taken. */
export async function existingGroup(request: CreatePoolGroupRequest, holders: Holders): Promise<Outcome<PoolGroup>> {
  const taken = differing(request, holders);
  const different = taken.find(({ differs }) => differs.length > 0);
  const named = request.ifExists === 'Error' ? taken[0] : different;
  if (named !== undefined) return nameTaken('pool', named.name, named.differs);
  const outcomes = holders.flatMap((holder) => (holder === undefined ? [] : [holder.outcome]));
  const group = groupOf(await Promise.all(outcomes));
  if (!request.wait || isFailure(group)) return group;
  return (await firstFailure(group.pools, () => undefined)) ?? group;
}

/** The names that are taken, and how who has them differs; in `pools` where it is not part of such a group at all. */
function differing(request: CreatePoolGroupRequest, holders: Holders): { name: string; differs: string[] }[] {
  const incomplete = holders.includes(undefined) ? ['pools'] : [];
  return groupMembers(request, pagesOf(request, holders)).flatMap(({ name, specification }, index) => {
    const holder = holders[index];
    if (holder === undefined) return [];
    return [{ name, differs: [...differences(holder.specification, specification), ...incomplete] }];
  });
}

/** The anchor pages asked for, or those that the live anchor has: the most that fitted when it was made. */
function pagesOf(request: CreatePoolGroupRequest, holders: Holders): number | undefined {
  const size = holders.at(-1)?.specification.size;
  return request.anchorPages ?? (typeof size === 'number' ? size / anchorOf(request).pageSize : undefined);
}
