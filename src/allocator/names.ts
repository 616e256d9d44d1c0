import { type FailureOf, invalidArgument, isFailure, type Outcome } from './failure.js';
import type { Specification } from './specification.js';

/** The longest name, in characters (UTF-16 code units). */
export const MAX_NAME_LENGTH = 128;

const acceptedNames = `A name has 1 to ${MAX_NAME_LENGTH} characters, no control characters and no blank at either end`;

/** Why a name is not acceptable; undefined when it is. The name itself is not repeated: it may be huge or unprintable. */
export function checkName(name: string): FailureOf<'InvalidArgument'> | undefined {
  if (name.length === 0) return invalidArgument('name', `${acceptedNames}; this one is empty.`);
  if (name.length > MAX_NAME_LENGTH) return invalidArgument('name', `${acceptedNames}; this one has ${name.length}.`);
  if (/[\p{Cc}\p{Cs}\p{Zl}\p{Zp}]/u.test(name)) return invalidArgument('name', `${acceptedNames}; this one has one.`);
  if (name.trim() !== name) return invalidArgument('name', `${acceptedNames}; this one has one.`);
  return undefined;
}

/** Who has a name: what it was asked to be, and what comes of it. */
export interface Holder<T> {
  readonly specification: Specification;
  readonly outcome: Promise<Outcome<T>>;
}

/** The names of live things. A name is taken before anything is awaited, so a hundred callers at once make one thing. */
export class NameRegistry<T> {
  readonly #holders = new Map<string, Holder<T>>();
  readonly #things = new Map<string, T>();

  /** Who has the name now. */
  holderOf(name: string): Holder<T> | undefined {
    return this.#holders.get(name);
  }

  /** Takes a free name and makes what it names; a failure, or an exception, gives the name back. */
  take(name: string, specification: Specification, make: () => Promise<Outcome<T>>): Promise<Outcome<T>> {
    const outcome = this.#hold(name, make);
    this.#holders.set(name, { specification, outcome });
    return outcome;
  }

  /** Gives a name back, unless someone else has it by now. */
  release(name: string, thing: T): void {
    if (this.#things.get(name) === thing) this.#forget(name);
  }

  async #hold(name: string, make: () => Promise<Outcome<T>>): Promise<Outcome<T>> {
    try {
      const outcome = await make();
      if (isFailure(outcome)) this.#forget(name);
      else this.#things.set(name, outcome);
      return outcome;
    } catch (bug) {
      this.#forget(name);
      throw bug;
    }
  }

  #forget(name: string): void {
    this.#holders.delete(name);
    this.#things.delete(name);
  }
}
