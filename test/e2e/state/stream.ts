import {
  COMMIT,
  CREATE_BUDGET,
  CREATE_GROUP,
  CREATE_LOGICAL,
  CREATE_PAGED,
  DELETE_BUDGET,
  DESTROY_POOL,
  RELEASE,
  RENEW,
  RESERVE,
  UPDATE_BUDGET,
} from '../../testkit/graphql.js';
import type { TestServer } from '../../testkit/server.js';
import { anything, is, type Model } from './model.js';

/** A generator of numbers from 0 up to 1: the same for the same seed (mulberry32). */
export function randomOf(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let bits = Math.imul(state ^ (state >>> 15), 1 | state);
    bits = (bits + Math.imul(bits ^ (bits >>> 7), 61 | bits)) ^ bits;
    return ((bits ^ (bits >>> 14)) >>> 0) / 2 ** 32;
  };
}

const PAGE = 4096;
/** Above so many of a kind, more are taken away than made. */
const MANY = 25;

/** Sends one mutation after the other, and tells the model, until the server is gone. */
export class Stream {
  #names = 0;
  /** Requests by their key, and the reservation that was answered. */
  readonly answered = new Map<string, { input: object; id: string | undefined }>();

  constructor(
    private readonly model: Model,
    private readonly random: () => number,
    private readonly prefix: string,
  ) {}

  async untilItDies(server: TestServer): Promise<void> {
    try {
      for (;;) await this.#one(server);
    } catch (error) {
      if (!isConnectionLost(error)) throw error;
    }
  }

  #one(server: TestServer): Promise<void> {
    const kind = pick(['budget', 'reservation', 'pool'] as const, this.random);
    const idle = this.model.idle(kind).filter((key) => key.startsWith(`${kind} ${this.prefix}`));
    const change = idle.length > 0 && this.random() < (idle.length > MANY ? 0.8 : 0.4);
    const key = change ? pick(idle, this.random) : `${kind} ${this.prefix}${++this.#names}`;
    const name = key.slice(kind.length + 1);
    if (kind === 'budget') return change ? this.#changeBudget(server, key, name) : this.#makeBudget(server, key, name);
    if (kind === 'reservation') return change ? this.#changeReservation(server, key) : this.#reserve(server, key, name);
    return change ? this.#destroy(server, key, name) : this.#makePool(server, key, name);
  }

  #makeBudget(server: TestServer, key: string, name: string): Promise<void> {
    const input = {
      name,
      requestedBytes: PAGE * Math.ceil(this.random() * 1000),
      ranks: 1 + Math.floor(this.random() * 4),
    };
    const terms = JSON.stringify({
      requestedBytes: input.requestedBytes,
      fraction: null,
      ranks: input.ranks,
      admissionClosed: false,
    });
    return this.#send(server, key, terms, CREATE_BUDGET, { input });
  }

  async #changeBudget(server: TestServer, key: string, name: string): Promise<void> {
    if (this.random() < 0.4) return this.#send(server, key, undefined, DELETE_BUDGET, { name });
    const closed = this.random() < 0.5;
    const change = { requestedBytes: PAGE * Math.ceil(this.random() * 1000), admissionClosed: closed };
    await this.model.change([key], anything, async () => {
      const budget = await ask(server, UPDATE_BUDGET, { input: { name, ...change } }, 'Budget');
      const { requestedBytes, fraction, ranks, admissionClosed } = budget;
      return new Map([[key, JSON.stringify({ requestedBytes, fraction, ranks, admissionClosed })]]);
    });
  }

  async #reserve(server: TestServer, key: string, holder: string): Promise<void> {
    const ttl = this.random() < 0.5 ? { ttlSeconds: 3600 } : {};
    const input = { bytes: PAGE, holder, idempotencyKey: holder, ...ttl };
    this.answered.set(holder, { input, id: undefined });
    await this.model.change([key], anything, async () => {
      const { id, state, expiresAt } = await ask(server, RESERVE, { input }, 'Reservation');
      this.answered.set(holder, { input, id });
      return new Map([[key, `${id} ${state} ${expiresAt}`]]);
    });
  }

  async #changeReservation(server: TestServer, key: string): Promise<void> {
    const id = this.answered.get(key.slice('reservation '.length))?.id;
    if (id === undefined) return;
    if (this.random() < 0.5) return this.#send(server, key, undefined, RELEASE, { id });
    const [operation, more] = this.random() < 0.5 ? [COMMIT, {}] : [RENEW, { ttlSeconds: 7200 }];
    await this.model.change([key], anything, async () => {
      const { state, expiresAt } = await ask(server, operation, { id, ...more }, 'Reservation');
      return new Map([[key, `${id} ${state} ${expiresAt}`]]);
    });
  }

  async #makePool(server: TestServer, key: string, name: string): Promise<void> {
    const memory = { backing: 'ANONYMOUS', prefault: false };
    const shape = { layerNum: 2, itemBytes: PAGE, slotPageSize: 8 };
    if (this.random() < 0.3)
      return this.#send(server, key, 'READY 64', CREATE_LOGICAL, { input: { name, size: 64, pageSize: 8 } });
    const paged = { name, ...shape, numHostPages: 4, memory };
    if (this.random() < 0.7) return this.#send(server, key, 'READY 32', CREATE_PAGED, { input: paged });
    const names = [`${name}.x`, `${name}.y`, `${name}.anchor`];
    const input = {
      pools: names.slice(0, 2).map((name) => ({ name, ...shape })),
      anchorPages: 2,
      memory,
      anchor: { name: names[2], pageSize: 8 },
    };
    const keys = names.map((name) => `pool ${name}`);
    await this.model.change(keys, is('READY 16'), async () => {
      await ask(server, CREATE_GROUP, { input }, 'PoolGroup');
      return new Map(keys.map((key) => [key, 'READY 16']));
    });
  }

  async #destroy(server: TestServer, key: string, name: string): Promise<void> {
    const { pool } = await server.data('query($name: String) { pool(name: $name) { id } }', { name });
    return this.#send(server, key, undefined, DESTROY_POOL, { id: pool.id });
  }

  #send(server: TestServer, key: string, to: string | undefined, mutation: string, variables: object): Promise<void> {
    return this.model.change([key], is(to), async () => {
      await ask(server, mutation, variables);
      return new Map([[key, to]]);
    });
  }
}

// biome-ignore lint/suspicious/noExplicitAny: answers are as dynamic as the queries that tests write
async function ask(server: TestServer, mutation: string, variables: object, typename?: string): Promise<any> {
  const answer = await server.only(mutation, variables);
  const refused = answer.code !== undefined || (typename !== undefined && answer.__typename !== typename);
  if (refused) throw new Error(`refused: ${JSON.stringify(variables)}: ${JSON.stringify(answer)}`);
  return answer;
}

function pick<T>(from: readonly T[], random: () => number): T {
  return from[Math.floor(random() * from.length)] as T;
}

function isConnectionLost(error: unknown): boolean {
  const code = (error as { cause?: { code?: string }; code?: string }).cause?.code ?? (error as { code?: string }).code;
  return ['ECONNRESET', 'ECONNREFUSED', 'UND_ERR_SOCKET', 'EPIPE'].includes(code ?? '');
}
