import { HostAllocator, HostReservations, type WantedMemory } from '../../native/index.js';
import type { HostBufferRequest, PagedPoolRequest } from '../allocator/specification.js';
import { State } from '../allocator/state.js';
import type { Config } from '../config.js';
import { container } from './container.js';
import { type Diagnosis, diagnosis, diskFree, figuresOf } from './doctor.js';
import type { JudgedWish, Look, StateLook, Wish } from './look.js';
import {
  copyState,
  hasState,
  isInUse,
  nearestThatExists,
  type StateCopy,
  stateFileIn,
  whyNotWritable,
} from './state-copy.js';
import { keptBuffer, keptPool, wanted } from './wanted.js';
import { count } from './words.js';

/** The settings that a start goes by. */
export type StartSettings = Pick<Config, 'hostRoot' | 'reserveBytes' | 'stateDir'>;

/** What is not of the host but of where hostpool would listen. */
export type Door = Pick<Look, 'portTaken'>;

/**
 * What a start with these settings would come to, with the rights of this process: on a copy of the state, and without
 * making anything. What is kept, and the host, stay as they are.
 */
export async function rehearseStart(settings: StartSettings, door: Door, wish?: Wish): Promise<Diagnosis> {
  const { folder, state, copy } = openCopy(settings.stateDir);
  try {
    const judged = await judge(settings, state, wish);
    const opened = folder.kind === 'Open' ? { ...folder, detail: judged.kept } : folder;
    const look: Look = {
      ...settings,
      ...door,
      ...judged,
      state: opened,
      facts: await HostAllocator.gatherFacts(settings.hostRoot),
      stateDiskFree: await diskFree(nearestThatExists(settings.stateDir)),
      container: container(),
    };
    return diagnosis(look, new Date(), opened.kind === 'Open' ? stateFileIn(opened.folder) : undefined);
  } finally {
    await state.close();
    copy?.remove();
  }
}

interface OpenedCopy {
  readonly folder: StateLook;
  readonly state: State;
  readonly copy?: StateCopy;
}

/** The copy of the state, or an empty one with why there is no other. */
function openCopy(folder: string): OpenedCopy {
  const without = (look: StateLook) => ({ folder: look, state: new State(undefined) });
  if (isInUse(folder)) return without({ kind: 'InUse', folder });
  const unwritable = whyNotWritable(folder);
  if (unwritable !== undefined)
    return without({ kind: 'Refused', folder, detail: `${folder} cannot be used: ${unwritable}.` });
  if (!hasState(folder)) return without({ kind: 'Absent', folder });
  const copy = copyState(folder);
  try {
    return { folder: { kind: 'Open', folder, detail: '' }, state: new State(copy.folder), copy };
  } catch (error) {
    copy.remove();
    return without({ kind: 'Refused', folder, detail: (error as Error).message.replaceAll(copy.folder, folder) });
  }
}

type Judged = Pick<Look, 'host' | 'unreadable' | 'budgets' | 'wishes'> & { kept: string };

/** The start itself, up to where memory would be mapped: budgets, then reservations, then pools, then buffers. */
async function judge({ hostRoot, reserveBytes }: StartSettings, state: State, wish: Wish | undefined): Promise<Judged> {
  const { wishes, wantedKept } = keptIn(state);
  let native: HostAllocator;
  try {
    native = new HostAllocator({ hostRoot, reserveBytes }, state.native);
  } catch (error) {
    return { host: undefined, unreadable: (error as Error).message, budgets: [], wishes: [], kept: '' };
  }
  const reservations = new HostReservations(native, state.native);
  const figures = await figuresOf(native);
  const live = (await reservations.list()).length;
  const all = wish === undefined ? wishes : [...wishes, wish];
  const outcomes = await native.rehearse(wantedKept, wish === undefined ? [] : [wanted(wish)]);
  const judged = all.map((each, index): JudgedWish => {
    const { backing, failure } = outcomes[index] ?? {};
    return { ...each, isHeld: false, backing: backing ?? undefined, failure: failure ?? undefined };
  });
  const kept = `${count(figures.budgets.length, 'budget')}, ${count(live, 'reservation')} that would go on, ${count(wishes.length, 'pool or buffer', 'pools and buffers')} with memory`;
  return { ...figures, wishes: judged, kept };
}

/** Pools without bytes take no memory of the host. */
function keptIn(state: State): { wishes: Wish[]; wantedKept: WantedMemory[] } {
  const pools = state.takeEntries('Pool').flatMap(({ specification }) => {
    const { kind, request } = JSON.parse(specification) as { kind: string; request: PagedPoolRequest };
    return kind === 'V4PagedHostPool' ? [{ wish: keptPool(request), wanted: { pool: request } }] : [];
  });
  const buffers = state.takeEntries('HostBuffer').map(({ specification, number }) => {
    const { request } = JSON.parse(specification) as { request: HostBufferRequest };
    return { wish: keptBuffer(request, number), wanted: { buffer: request } };
  });
  const all = [...pools, ...buffers];
  return { wishes: all.map(({ wish }) => wish), wantedKept: all.map(({ wanted }) => wanted) };
}
