import type { Client } from './client.js';

/** The most that clients held at one moment, as they tell it themselves. */
export interface Peak {
  readonly bytes: number;
  readonly at: number;
}

/**
 * Adds up what is held for certain: from when a client knew of a grant until it was about to give it back, or was killed.
 * The server had granted it before and took it back later, so the true sum is never less.
 */
export function peakOfHoldings(clients: readonly Client[]): Peak {
  const steps = clients.flatMap(stepsOf).sort((a, b) => a.at - b.at || a.bytes - b.bytes);
  let held = 0;
  let peak: Peak = { bytes: 0, at: 0 };
  for (const { at, bytes } of steps) {
    held += bytes;
    if (held > peak.bytes) peak = { bytes: held, at };
  }
  return peak;
}

interface Step {
  readonly at: number;
  readonly bytes: number;
}

function stepsOf({ told, killedAt }: Client): Step[] {
  const held = new Map<string, number>();
  const steps: Step[] = [];
  for (const line of told) {
    // What it told after the kill was sent, it did before it noticed.
    if (killedAt !== undefined && line.at >= killedAt) break;
    if (line.event === 'granted') {
      held.set(line.id, line.bytes);
      steps.push({ at: line.at, bytes: line.bytes });
    } else if (line.event === 'released') {
      held.delete(line.id);
      steps.push({ at: line.at, bytes: -line.bytes });
    }
  }
  const left = [...held.values()].reduce((sum, bytes) => sum + bytes, 0);
  if (killedAt !== undefined) steps.push({ at: killedAt, bytes: -left });
  return steps;
}
