import { type Finding, info, ok, problem } from './finding.js';
import type { Look } from './look.js';
import { act, run } from './steps.js';
import { shellWord, size } from './words.js';

/** Room for the state of a busy host: its log is cut back at 4 MiB. */
const LITTLE_ROOM = 64 * 2 ** 20;

/** What outlives the process, and the door it is asked at. */
export function stateFindings(look: Look): Finding[] {
  return [...state(look), ...room(look), ...port(look)];
}

function state({ state }: Look): Finding[] {
  switch (state.kind) {
    case 'Open':
      return [ok('STATE', 'state', 'The state', `${state.folder}: ${state.detail}.`)];
    case 'Absent':
      return [info('STATE', 'state', 'No state yet', `${state.folder} holds none: a start makes it.`)];
    case 'InUse':
      return [inUse(state.folder)];
    case 'Refused':
      return [refused(state)];
    case 'NotKept':
      return [info('STATE', 'state', 'No state is kept', 'Everything ends with this process.')];
    default:
      return state satisfies never;
  }
}

function inUse(folder: string): Finding {
  const why = `${folder} is in use by a hostpool that was not asked: what that one keeps was not looked at.`;
  const steps = [
    act('Run this with its HOSTPOOL_ADDRESS and HOSTPOOL_PORT, or ask it: { doctor { findings { title } } }.'),
  ];
  return problem('STATE', 'state', 'The state is in use', why, steps);
}

function refused({ folder, detail }: { folder: string; detail: string }): Finding {
  const steps = [run('What is there', `ls -la ${shellWord(folder)}`), act('The sentence above says what to do.')];
  return problem('STATE', 'state', 'A start would refuse the state', detail, steps, ['HOSTPOOL_STATE_DIR']);
}

function room({ state, stateDiskFree }: Look): Finding[] {
  if (stateDiskFree === undefined || !('folder' in state)) return [];
  const detail = `${size(stateDiskFree)} are free on the file system of ${state.folder}.`;
  if (stateDiskFree >= LITTLE_ROOM) return [ok('STATE', 'state-disk', 'Room for the state', detail)];
  const steps = [
    run('What takes it', `df -h ${shellWord(state.folder)}`),
    act('Make room: without any, every change is refused with STATE_NOT_SAVED.'),
  ];
  return [problem('STATE', 'state-disk', 'Little room for the state', detail, steps)];
}

function port({ portTaken }: Look): Finding[] {
  if (portTaken === undefined) return [];
  const steps = [run('Who has it', 'sudo ss -ltnp'), run('At the next start', 'export HOSTPOOL_PORT=0')];
  return [problem('STATE', 'port', 'The port is taken', portTaken, steps, ['HOSTPOOL_PORT'])];
}
