import { type Finding, info, ok, problem } from './finding.js';
import type { Look } from './look.js';
import { act, memoryLimit, run } from './steps.js';
import { size } from './words.js';

/** Share of ten seconds, in per cent, from which tasks are held up noticeably. */
const HIGH_PRESSURE = 10;

/** Ordinary memory: what there is, what limits it, what is kept back. */
export function memoryFindings(look: Look): Finding[] {
  const { host } = look;
  if (host === undefined) return [];
  return [
    ok('MEMORY', 'memory', 'Memory', `${size(host.memAvailable)} of ${size(host.memTotal)} are available.`),
    cgroup(look, host),
    reserve(look, host),
    ...budgets(look),
    swap(look),
    ...pressure(host),
  ];
}

type Host = NonNullable<Look['host']>;

function cgroup({ container }: Look, { cgroup, memTotal }: Host): Finding {
  if (cgroup == null)
    return ok('MEMORY', 'memory-limit', 'No memory limit', 'No control group of this process has one.');
  const { path, version, limit, available } = cgroup;
  const detail = `${size(available)} of ${size(limit)} are left in ${path} (cgroup v${version}).`;
  const isTight = available < limit / 20;
  if (!isTight) return ok('MEMORY', 'memory-limit', 'The memory limit', detail);
  const steps = memoryLimit(cgroup, Math.min(memTotal, limit * 2), container);
  return problem('MEMORY', 'memory-limit', 'The memory limit is nearly reached', detail, steps);
}

/** A reserve that is more than there can ever be leaves nothing to promise, whatever else is freed. */
function reserve({ budgets, reserveBytes, container }: Look, host: Host): Finding {
  const reserve = budgets[0]?.reserveBytes ?? reserveBytes;
  const total = Math.min(host.memTotal, host.cgroup?.limit ?? Number.POSITIVE_INFINITY);
  const left = size(Math.max(0, host.effectiveAvailable - reserve));
  const detail = `${size(reserve)} are kept for the host; ${left} of ordinary memory can be promised now.`;
  if (reserve < host.effectiveAvailable || reserve === 0) return ok('MEMORY', 'reserve', 'The reserve', detail);
  const tenth = Math.floor(total / 10 / 2 ** 20);
  const steps = [
    run('At the next start', `export HOSTPOOL_RESERVE=${tenth}MiB`),
    act('Now: setHostBudget(input: { reserveBytes: … }).'),
    ...(host.cgroup == null ? [] : memoryLimit(host.cgroup, host.cgroup.limit + reserve, container)),
  ];
  if (reserve < total) return problem('MEMORY', 'reserve', 'The reserve takes all that is available', detail, steps);
  const never = `${detail} This host, or its control group, has ${size(total)} in all.`;
  return problem('MEMORY', 'reserve', 'The reserve is more than there is', never, steps, ['HOSTPOOL_RESERVE']);
}

/** Budgets promise nothing, so that one which the host cannot honour now is worth knowing and no more. */
function budgets({ budgets }: Look): Finding[] {
  const short = budgets.filter((budget) => budget.overBudget || isShort(budget));
  if (short.length === 0)
    return [ok('MEMORY', 'budgets', 'Budgets', `${budgets.length} in all, each can be honoured.`)];
  const told = short.map(
    ({ name, requestedBytes, effectiveBytes, chargedBytes }) =>
      `${JSON.stringify(name)} holds ${size(chargedBytes)}, asked for ${requestedBytes == null ? 'no size' : size(requestedBytes)}, can have ${size(effectiveBytes)}`,
  );
  const steps = [act('Lower them with updateBudget, or free memory on this host.')];
  return [problem('MEMORY', 'budgets', 'Budgets that cannot be honoured now', `${told.join('; ')}.`, steps)];
}

function isShort({ requestedBytes, effectiveBytes }: Look['budgets'][number]): boolean {
  return requestedBytes != null && effectiveBytes < requestedBytes;
}

function swap({ facts }: Look): Finding {
  const { swapTotal, swapFree } = facts.settings;
  if (!swapTotal) return ok('MEMORY', 'swap', 'No swap', 'Pools and buffers stay in memory.');
  const detail = `${size(swapTotal)} of swap, ${size(swapTotal - (swapFree ?? swapTotal))} used: ordinary pages of pools may be written there; hugepages never are.`;
  return info('MEMORY', 'swap', 'Pools can be swapped out', detail, [
    run('Now', 'sudo swapoff --all'),
    act('Or lock them in memory, or put them on hugepages.'),
  ]);
}

function pressure({ pressure }: Host): Finding[] {
  if (pressure == null) return [];
  const { someAvg10, fullAvg10 } = pressure;
  const detail = `In the last ten seconds some task waited for memory ${someAvg10} % of the time, all of them ${fullAvg10} %.`;
  if (someAvg10 < HIGH_PRESSURE) return [ok('MEMORY', 'memory-pressure', 'Little memory pressure', detail)];
  const steps = [run('Who holds it', 'ps -eo rss,pid,user,comm --sort=-rss | head -20')];
  return [problem('MEMORY', 'memory-pressure', 'Tasks wait for memory', detail, steps)];
}
