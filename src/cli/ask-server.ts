import { connect } from 'node:net';
import { dirname, resolve } from 'node:path';
import type { Backing } from '../../native/index.js';
import type { Config } from '../config.js';
import { enums } from '../resolvers/enums.js';
import type { DoctorArguments } from './doctor-arguments.js';
import type { DoctorReport } from './doctor-report.js';

/** A server that does not answer in this time is treated as none. */
const PATIENCE_MS = 5000;

const QUERY = `query Doctor($wish: DoctorWishInput) {
  doctor(wish: $wish) {
    observedAt hostname stateFile severity canMeet
    findings { id area severity title detail steps { summary command file line } commands wishes }
  }
}`;

/** Where a server with these settings listens. */
export function urlOf({ address, port }: Pick<Config, 'address' | 'port'>): string {
  return `http://${address.includes(':') ? `[${address}]` : address}:${port}`;
}

/** What the hostpool that runs with these settings finds; undefined when none of them answers, or one of another state. */
export async function askServer(config: Config, wish: DoctorArguments['wish']): Promise<DoctorReport | undefined> {
  try {
    const response = await fetch(`${urlOf(config)}/graphql`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', connection: 'close' },
      body: JSON.stringify({ query: QUERY, variables: { wish: wish === undefined ? null : wishInput(wish) } }),
      signal: AbortSignal.timeout(PATIENCE_MS),
    });
    const { data } = (await response.json()) as { data?: { doctor?: DoctorReport } };
    const report = data?.doctor;
    const isOfOurs = report?.stateFile != null && dirname(resolve(report.stateFile)) === resolve(config.stateDir);
    return isOfOurs ? report : undefined;
  } catch {
    return undefined;
  }
}

function wishInput({ memory, bytes }: NonNullable<DoctorArguments['wish']>) {
  const { backing, hugepageSize, numaNode, lockMemory = false } = memory;
  const asked = {
    backing: contractName(backing),
    numaNode,
    lockMemory,
    ...(hugepageSize === undefined ? {} : { hugepageSize }),
  };
  return { bytes: bytes ?? null, memory: asked };
}

/** As the contract spells it. */
function contractName(backing: Backing): string | undefined {
  return Object.entries(enums.Backing).find(([, spelled]) => spelled === backing)?.[0];
}

/** Whether something listens there. It is not asked anything. */
export function isTaken({ address, port }: Pick<Config, 'address' | 'port'>): Promise<boolean> {
  if (port === 0) return Promise.resolve(false);
  return new Promise((answer) => {
    const socket = connect({ host: address, port, timeout: PATIENCE_MS });
    const end = (taken: boolean) => {
      socket.destroy();
      answer(taken);
    };
    socket
      .once('connect', () => end(true))
      .once('error', () => end(false))
      .once('timeout', () => end(true));
  });
}
