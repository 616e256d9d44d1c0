import type { HugepagePool, HugepageSize } from '../../native/index.js';
import { DEFAULT_HUGEPAGE, isHugetlb } from '../allocator/specification.js';
import { type Finding, info, ok, problem } from './finding.js';
import { type JudgedWish, type Look, namesOf } from './look.js';
import { act, hugepages, idOfSize } from './steps.js';
import { count, size } from './words.js';

/** Hugepages of each size, on the machine and on its nodes. */
export function hugepageFindings(look: Look): Finding[] {
  const { host } = look;
  if (host === undefined) return [];
  if (host.hugepages.length > 0) return host.hugepages.map((pool) => ofSize(look, host, pool));
  const root = look.hostRoot === '/' ? '' : look.hostRoot;
  const detail = `There is no ${root}/sys/kernel/mm/hugepages: the kernel was built without them, or hides them.`;
  return [info('HUGEPAGES', 'hugepages', 'No hugepages', detail)];
}

type Host = NonNullable<Look['host']>;

function ofSize(look: Look, host: Host, pool: HugepagePool): Finding {
  const id = `hugepages-${idOfSize(pool.size)}`;
  const title = `Hugepages of ${size(pool.size)}`;
  const kernel = look.facts.hugepages.find(({ size }) => size === pool.size);
  if (kernel?.refused != null) return refused(look, pool, kernel, id);
  const detail = [figures(pool, kernel), ...onNodes(host, pool.size)].join('; ');
  if (pool.total > 0) return ok('HUGEPAGES', id, title, `${detail}.`);
  const steps = hugepages(pool.size, Math.ceil(2 ** 30 / pool.size), undefined, look.container);
  return info('HUGEPAGES', id, title, `${detail}.`, steps);
}

function refused(look: Look, pool: HugepagePool, { refused }: HugepageSize, id: string): Finding {
  return problem(
    'HUGEPAGES',
    id,
    `No memory on hugepages of ${size(pool.size)} can be made`,
    `memfd_create on them is refused with ${refused}: the running kernel does not have this size.`,
    [act('Wish for a size that it has, or for ordinary pages.')],
    namesOf(look.wishes, ({ memory }) => mustBeOnHugepages(memory) && sizeOf(memory) === pool.size),
  );
}

function figures({ total, free, reserved, surplus, usable, usableBytes }: HugepagePool, kernel?: HugepageSize): string {
  if (total === 0 && !kernel?.overcommit) return 'The kernel holds none';
  const onDemand = kernel?.overcommit ? `, ${kernel.overcommit} more on demand` : '';
  const extra = surplus > 0 ? `, ${surplus} of them surplus` : '';
  return `${count(total, 'page')}${extra}, ${free} free, ${reserved} reserved: ${usable} (${size(usableBytes)}) can be used${onDemand}`;
}

/** Only where there is a choice. */
function onNodes({ numaNodes }: Host, sizeBytes: number): string[] {
  if (numaNodes.length < 2) return [];
  return numaNodes.map(({ id, hugepages }) => {
    const pool = hugepages.find(({ size }) => size === sizeBytes);
    return `node ${id}: ${pool?.free ?? 0} of ${pool?.total ?? 0} free`;
  });
}

function mustBeOnHugepages({ backing, onHugepageShortage }: JudgedWish['memory']): boolean {
  return isHugetlb(backing) && onHugepageShortage === 'Fail';
}

function sizeOf({ hugepageSize }: JudgedWish['memory']): number {
  return hugepageSize ?? DEFAULT_HUGEPAGE;
}
