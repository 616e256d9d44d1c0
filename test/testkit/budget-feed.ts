import { RELEASE, RESERVE } from './graphql.js';
import type { TestServer } from './server.js';
import type { OpenStream, Stream } from './streams.js';

/** Everything an event says. */
export const EVENTS = `subscription Events($budget: String) {
  budgetEvents(budget: $budget) {
    sequence kind at budget rank claimant { kind name pid } hugepageSize numaNode requestedBytes mappedBytes
    availableBytes limitedBy closedBudget chargedBytes hostChargedBytes missed
  }
}`;

// biome-ignore lint/suspicious/noExplicitAny: events are as dynamic as the queries that tests write
type Event = any;

/** The events of a budget, or of all, read one by one. */
export class BudgetFeed {
  readonly #stream: Stream;
  #first: Promise<Event> | undefined;
  /** Whether an event has come. */
  begun = false;

  constructor(open: OpenStream, server: TestServer, budget?: string) {
    this.#stream = open(server.url, EVENTS, { budget });
    this.#first = this.#read().then((event) => {
      this.begun = true;
      return event;
    });
  }

  async next(): Promise<Event> {
    const read = this.#first ?? this.#read();
    this.#first = undefined;
    return read;
  }

  async take(count: number): Promise<Event[]> {
    const taken = [];
    while (taken.length < count) taken.push(await this.next());
    return taken;
  }

  /** Reads on to where this holder's reservation is given back. */
  async skipTo(holder: string): Promise<void> {
    for (;;) {
      const { kind, claimant } = await this.next();
      if (kind === 'RELEASED' && claimant.name === holder) return;
    }
  }

  async end(): Promise<void> {
    await this.#stream.results.return?.();
    this.#stream.dispose();
  }

  async #read(): Promise<Event> {
    return (await this.#stream.results.next()).value.data.budgetEvents;
  }
}

/** Makes events until each feed has seen one, and reads past them. */
export async function begin(server: TestServer, feeds: BudgetFeed[], budget = 'host', rank?: number): Promise<void> {
  const mark = async (holder: string) => {
    const input = { bytes: 4096, budget, rank, holder };
    const { id } = (await server.data(RESERVE, { input })).reserveHostMemory;
    await server.data(RELEASE, { id });
  };
  while (!feeds.every(({ begun }) => begun)) await mark('mark');
  await mark('last mark');
  for (const feed of feeds) await feed.skipTo('last mark');
}
