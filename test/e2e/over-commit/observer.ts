import { DESTROY_POOL } from '../../testkit/graphql.js';
import type { TestServer } from '../../testkit/server.js';
import type { Client } from './client.js';

/** What became of the reservations of a client that was killed. */
export interface Death {
  readonly client: Client;
  readonly killedAt: number;
  /** When the last question was asked whose answer still had one of them, in milliseconds since 1970. */
  seenAt: number;
  gone: boolean;
}

/** Asks the server, again and again, what the dead still hold there; and destroys their pools, which nobody else will. */
export class Observer {
  readonly deaths: Death[] = [];

  constructor(private readonly server: TestServer) {}

  /** Kills a client. */
  kill(client: Client): void {
    client.kill();
    const killedAt = client.killedAt as number;
    this.deaths.push({ client, killedAt, seenAt: killedAt, gone: false });
  }

  /** Whether every client that was killed holds nothing any more. */
  get settled(): boolean {
    return this.deaths.every(({ gone }) => gone);
  }

  /** Looks once. */
  async look(): Promise<void> {
    const askedAt = Date.now();
    const waiting = this.deaths.filter(({ gone }) => !gone);
    const { reservations, pools } = await this.server.data('{ reservations { pid } pools(state: READY) { id name } }');
    for (const death of waiting) {
      death.gone = !reservations.some(({ pid }: { pid: number }) => pid === death.client.pid);
      if (!death.gone) death.seenAt = askedAt;
    }
    for (const { id, name } of pools) if (this.#isOfTheDead(name)) await this.server.data(DESTROY_POOL, { id });
  }

  #isOfTheDead(pool: string): boolean {
    return this.deaths.some(({ client }) => pool.startsWith(`client-${client.pid}-`));
  }
}
