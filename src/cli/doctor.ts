import { type Config, readConfig } from '../config.js';
import { HOST_UNREADABLE } from '../doctor/diagnose.js';
import { rehearseStart } from '../doctor/rehearsal.js';
import { isInUse } from '../doctor/state-copy.js';
import { askedWish } from '../doctor/wanted.js';
import { askServer, isTaken, urlOf } from './ask-server.js';
import { DOCTOR_HELP, type DoctorArguments, readDoctorArguments } from './doctor-arguments.js';
import { type DoctorReport, reportOf } from './doctor-report.js';
import { doctorText, styleFor } from './doctor-text.js';

/** Exit codes. */
const CAN_MEET = 0;
const CANNOT_MEET = 1;
const NOT_LOOKED_AT = 2;

/** `hostpool doctor`: prints what is found, and resolves to the exit code. */
export async function doctorCommand(args: string[]): Promise<number> {
  const asked = readDoctorArguments(args);
  switch (asked.kind) {
    case 'Help':
      process.stdout.write(DOCTOR_HELP);
      return CAN_MEET;
    case 'Invalid':
      return refuse([...asked.problems.map((problem) => `doctor: ${problem}`), 'doctor: see hostpool doctor --help']);
    case 'Doctor':
      return examine(asked);
    default:
      return asked satisfies never;
  }
}

async function examine(asked: DoctorArguments): Promise<number> {
  const settings = readConfig([]);
  if (settings.kind === 'Invalid') return refuse(settings.problems);
  if (settings.kind !== 'Config') return NOT_LOOKED_AT;
  try {
    const { report, source } = await look(settings.config, asked);
    print(report, source, asked.json);
    return exitCode(report);
  } catch (error) {
    return refuse([`doctor: this host could not be looked at: ${(error as Error).message}`]);
  }
}

interface Looked {
  readonly report: DoctorReport;
  /** Who looked, for people. */
  readonly source: string;
}

/** A hostpool that runs knows best: what counts are its own rights and limits, and what it holds already. */
async function look(config: Config, { local, wish }: DoctorArguments): Promise<Looked> {
  const isRunning = isInUse(config.stateDir);
  const told = isRunning && !local ? await askServer(config, wish) : undefined;
  if (told !== undefined) return { report: told, source: `As the hostpool sees it that runs at ${urlOf(config)}.` };
  const taken = !isRunning && (await isTaken(config));
  const portTaken = taken ? `Something else listens on ${config.address} port ${config.port}.` : undefined;
  const asked = wish === undefined ? undefined : askedWish(wish.memory, wish.bytes);
  const report = reportOf(await rehearseStart(config, { portTaken }, asked));
  return {
    report,
    source: 'As this process sees it: run it as the user, and in the container or unit, that hostpool runs in.',
  };
}

function print(report: DoctorReport, source: string, asJson: boolean): void {
  if (asJson) process.stdout.write(`${JSON.stringify(report, null, 2)}\n`);
  else process.stdout.write(doctorText(report, source, styleFor(process.stdout, process.env)));
}

function exitCode({ findings, canMeet }: DoctorReport): number {
  if (findings.some(({ id }) => id === HOST_UNREADABLE)) return NOT_LOOKED_AT;
  return canMeet ? CAN_MEET : CANNOT_MEET;
}

function refuse(problems: string[]): number {
  for (const problem of problems) process.stderr.write(`hostpool: ${problem}\n`);
  return NOT_LOOKED_AT;
}
