import { readFileSync } from 'node:fs';
import { DESTROY_POOL } from '../../testkit/graphql.js';
import type { TestServer } from '../../testkit/server.js';
import type { Client } from './client.js';

/** What became of the reservations of a client that was killed. */
export interface Death {
  readonly client: Client;
  /** For how long after its death they were still there for certain, in milliseconds. */
  seenForMs: number;
  gone: boolean;
}

/** Asks the server, again and again, what the dead still hold there; and destroys their pools, which nobody else will. */
export class Observer {
  readonly deaths: Death[] = [];
  #leastOwnBytes: number;

  constructor(private readonly server: TestServer) {
    this.#leastOwnBytes = anonymousBytes(server.pid);
  }

  /** The least that the server had faulted in for itself: before anybody asked it for pools, or later. */
  get leastOwnBytes(): number {
    return this.#leastOwnBytes;
  }

  /** Kills a client. */
  kill(client: Client): void {
    client.kill();
    this.deaths.push({ client, seenForMs: 0, gone: false });
  }

  /** Whether every client that was killed holds nothing any more. */
  get settled(): boolean {
    return this.deaths.every(({ gone }) => gone);
  }

  /** Looks once. */
  async look(): Promise<void> {
    this.#leastOwnBytes = Math.min(this.#leastOwnBytes, anonymousBytes(this.server.pid));
    const askedAt = Date.now();
    const waiting = this.deaths.filter(({ gone, client }) => !gone && client.diedAt !== undefined);
    const { reservations, pools } = await this.server.data('{ reservations { pid } pools(state: READY) { id name } }');
    for (const death of waiting) {
      death.gone = !reservations.some(({ pid }: { pid: number }) => pid === death.client.pid);
      if (!death.gone) death.seenForMs = Math.max(0, askedAt - (death.client.diedAt as number));
    }
    for (const { id, name } of pools) if (this.#isOfTheDead(name)) await this.server.data(DESTROY_POOL, { id });
  }

  #isOfTheDead(pool: string): boolean {
    return this.deaths.some(({ client }) => pool.startsWith(`client-${client.pid}-`));
  }
}

/** Anonymous memory of a process (proc_pid_status(5)): no cache that the kernel could drop. */
function anonymousBytes(pid: number): number {
  return Number(/^RssAnon:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) * 1024;
}
