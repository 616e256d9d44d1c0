import type { TestServer } from '../../testkit/server.js';

/** A thing as the server shows it; undefined when it does not. */
type Shown = string | undefined;

/** What must be there after a crash: what was acknowledged, or what was in flight, whole or not at all. */
export class Model {
  readonly #possible = new Map<string, ((shown: Shown) => boolean)[]>();
  readonly #busy = new Set<string>();

  /** Things of a kind that are certainly there and that nobody is changing. */
  idle(kind: string): string[] {
    const keys = [...this.#possible.keys()].filter((key) => key.startsWith(`${kind} `) && !this.#busy.has(key));
    return keys.filter((key) => !this.#possible.get(key)?.some((fits) => fits(undefined)));
  }

  /** A change of some things: `to` is what they may be once it is sent; what it answers is what they are. */
  async change(keys: string[], to: (shown: Shown) => boolean, send: () => Promise<Map<string, Shown>>): Promise<void> {
    for (const key of keys) {
      this.#busy.add(key);
      this.#possible.set(key, [...(this.#possible.get(key) ?? [is(undefined)]), to]);
    }
    const answered = await send();
    for (const key of keys) {
      this.#busy.delete(key);
      this.#possible.set(key, [is(answered.get(key))]);
    }
  }

  /** Compares with what a server shows, and takes that for what is. */
  check(shown: Map<string, string>): void {
    for (const [key, possible] of this.#possible) {
      const now = shown.get(key);
      if (!possible.some((fits) => fits(now))) throw new Error(`${key} is ${now}, which it cannot be`);
      if (now === undefined) this.#possible.delete(key);
      else this.#possible.set(key, [is(now)]);
    }
    for (const key of shown.keys()) if (!this.#possible.has(key)) throw new Error(`${key} was never asked for`);
    this.#busy.clear();
  }
}

/** Exactly that. */
export const is = (expected: Shown) => (shown: Shown) => shown === expected;

/** Something or other. */
export const anything = (shown: Shown) => shown !== undefined;

const EVERYTHING = `{
  budgets { name requestedBytes fraction ranks admissionClosed chargedBytes }
  reservations { id holder bytes state expiresAt }
  pools { name state size ... on V4PagedHostPool { memory { mappedBytes } } }
  hostBuffers { id state memory { mappedBytes } }
}`;

/** Everything that is kept, as keys and values; and its sum, which must be what is charged. */
export async function show(server: TestServer): Promise<Map<string, string>> {
  const { budgets, reservations, pools, hostBuffers } = await server.data(EVERYTHING);
  const shown = new Map<string, string>();
  for (const { name, chargedBytes: _, ...terms } of budgets)
    if (name !== 'host') shown.set(`budget ${name}`, JSON.stringify(terms));
  for (const { id, holder, state, expiresAt } of reservations) {
    if (shown.has(`reservation ${holder}`)) throw new Error(`${holder} was granted twice`);
    shown.set(`reservation ${holder}`, `${id} ${state} ${expiresAt}`);
  }
  for (const { name, state, size } of pools) shown.set(`pool ${name}`, `${state} ${size}`);
  const reserved = reservations.reduce((sum: number, { bytes }: { bytes: number }) => sum + bytes, 0);
  for (const { id, state } of hostBuffers) shown.set(`buffer ${id}`, state);
  const mapped = [...pools, ...hostBuffers].reduce(
    (sum: number, { memory }: { memory?: { mappedBytes: number } }) => sum + (memory?.mappedBytes ?? 0),
    0,
  );
  const { chargedBytes } = budgets[0];
  if (chargedBytes !== reserved + mapped) throw new Error(`${chargedBytes} charged for ${reserved} + ${mapped}`);
  return shown;
}
