import { createHmac, timingSafeEqual } from 'node:crypto';

/**
 * Gives out opaque ids such as `buf_1c_9f86d081884c7d65` and recognises the ones it gave out without remembering them:
 * the last part signs the first two with a key that is kept with the state. Recognising matters for buffers, which may
 * be freed twice without error, however many there have been.
 */
export class IdIssuer {
  #count: number;

  /** `last` is the last number that was given out. */
  constructor(
    private readonly prefix: string,
    private readonly key: Uint8Array,
    last = 0,
  ) {
    this.#count = last;
  }

  /** A new number. */
  nextNumber(): number {
    this.#count += 1;
    return this.#count;
  }

  /** The id of what has that number. */
  idOf(number: number): string {
    const body = `${this.prefix}_${number.toString(36)}`;
    return `${body}_${this.#sign(body)}`;
  }

  /** The number of an id that this issuer gave out; undefined for any other. */
  numberOf(id: string): number | undefined {
    if (!this.hasIssued(id)) return undefined;
    return Number.parseInt(id.slice(this.prefix.length + 1, id.lastIndexOf('_')), 36);
  }

  /** Whether this issuer gave out that id. */
  hasIssued(id: string): boolean {
    if (!id.startsWith(`${this.prefix}_`)) return false;
    const end = id.lastIndexOf('_');
    const signature = Buffer.from(id.slice(end + 1));
    const expected = Buffer.from(this.#sign(id.slice(0, Math.max(end, 0))));
    return signature.length === expected.length && timingSafeEqual(signature, expected);
  }

  #sign(body: string): string {
    return createHmac('sha256', this.key).update(body).digest('hex').slice(0, 16);
  }
}
