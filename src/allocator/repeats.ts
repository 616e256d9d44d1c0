import { createHash } from 'node:crypto';
import type { AnswerRecord } from '../../native/index.js';
import { type FailureOf, invalidArgument, isFailure, notFound, type Outcome } from './failure.js';
import type { State } from './state.js';

export type { AnswerRecord } from '../../native/index.js';

/** The most answers that are remembered; the oldest go first, on disk too. */
const MAX_ANSWERS = 10_000;

/** The result of what has been ended, where its name may come up again; nothing has it for a name. */
const GONE = '';

/** The longest key, in characters (UTF-16 code units). */
const MAX_KEY_LENGTH = 255;

/** What a request that may be repeated says about itself. */
export interface Repeatable {
  readonly idempotencyKey?: string | undefined;
}

/** A request under its key, and how it is answered the first time and again. */
export interface Doing<T> {
  readonly operation: string;
  readonly key: string | undefined;
  /** All that makes it this request and no other. */
  readonly request: object;
  /** Does it; `answerFor` gives the answer to save together with what it makes. */
  readonly first: (answerFor: AnswerFor) => Promise<Outcome<T>>;
  /** The name or number under which `again` finds what was made. */
  readonly resultOf: (made: T) => string;
  /** What was made, as it is now. */
  readonly again: (result: string) => Outcome<T> | Promise<Outcome<T>>;
}

/** The answer to save for a result; undefined for a request without a key. */
export type AnswerFor = (result: string) => AnswerRecord | undefined;

/**
 * Makes repeats of a request harmless: what a key made once is answered again, also after a restart. Refusals are not
 * remembered, since they changed nothing: a repeat is decided anew.
 */
export class Repeats {
  readonly #answers = new Map<string, AnswerRecord>();
  readonly #running = new Map<string, { digest: string; outcome: Promise<Outcome<unknown>> }>();

  constructor(private readonly state: Pick<State, 'answers' | 'save'>) {
    for (const answer of state.answers) this.#remember(answer);
  }

  /** Does it, or answers as before. The same key with another request is refused; at once with the same, both get one answer. */
  async once<T>(doing: Doing<T>): Promise<Outcome<T>> {
    const { operation, key, request } = doing;
    if (key === undefined) return doing.first(() => undefined);
    const invalid = checkKey(key);
    if (invalid !== undefined) return invalid;
    const [place, digest] = [placeOf(operation, key), digestOf(request)];
    const running = this.#running.get(place);
    if (running !== undefined) return running.digest === digest ? (running.outcome as Promise<Outcome<T>>) : other();
    const answer = this.#answers.get(place);
    if (answer !== undefined) return answer.request === digest ? doing.again(answer.result) : other();
    const outcome = this.#first(doing, { operation, key, request: digest });
    this.#running.set(place, { digest, outcome });
    return outcome.finally(() => this.#running.delete(place));
  }

  /** Ends what an operation has made: from then on its repeats are told that it is gone, whatever has its name then. */
  async ending<T>(
    operation: string,
    result: string,
    end: (answers: AnswerRecord[]) => Promise<Outcome<T>>,
  ): Promise<Outcome<T>> {
    const given = [...this.#answers].filter(([, answer]) => answer.operation === operation && answer.result === result);
    const gone = given.map(([place, answer]) => [place, { ...answer, result: GONE }] as const);
    const ended = await end(gone.map(([, answer]) => answer));
    if (!isFailure(ended)) for (const [place, answer] of gone) this.#answers.set(place, answer);
    return ended;
  }

  async #first<T>(doing: Doing<T>, asked: Omit<AnswerRecord, 'result'>): Promise<Outcome<T>> {
    let saved = false;
    const made = await doing.first((result) => {
      saved = true;
      return { ...asked, result };
    });
    if (isFailure(made)) return made;
    const answer = { ...asked, result: doing.resultOf(made) };
    // Nothing was made, but found: then the answer has not been saved with it.
    const notSaved = saved ? undefined : await this.state.save({ answer });
    if (notSaved !== undefined) return notSaved;
    this.#remember(answer);
    return made;
  }

  #remember(answer: AnswerRecord): void {
    this.#answers.set(placeOf(answer.operation, answer.key), answer);
    const [oldest] = this.#answers.keys();
    if (this.#answers.size > MAX_ANSWERS && oldest !== undefined) this.#answers.delete(oldest);
  }
}

/** What an idempotencyKey made is gone: to make it again takes another key. */
export function madeAndGone(
  what: 'pool' | 'host buffer' | 'budget' | 'reservation',
  id: string,
): FailureOf<'NotFound'> {
  const message = `This idempotencyKey made ${what} ${JSON.stringify(id)}, which is gone; use another key to make one anew.`;
  return { ...notFound('pool', id), message };
}

function placeOf(operation: string, key: string): string {
  return JSON.stringify([operation, key]);
}

/** The same for equal requests, whatever the order of their fields. */
function digestOf(request: object): string {
  return createHash('sha256').update(canonical(request)).digest('hex');
}

function canonical(value: unknown): string {
  return JSON.stringify(value, (_key, part) => {
    if (typeof part !== 'object' || part === null || Array.isArray(part)) return part;
    return Object.fromEntries(Object.entries(part).sort(([left], [right]) => (left < right ? -1 : 1)));
  });
}

function checkKey(key: string): FailureOf<'InvalidArgument'> | undefined {
  const accepted = `An idempotencyKey has 1 to ${MAX_KEY_LENGTH} characters and no control characters`;
  if (key.length === 0) return invalidArgument('idempotencyKey', `${accepted}; this one is empty.`);
  if (key.length > MAX_KEY_LENGTH) return invalidArgument('idempotencyKey', `${accepted}; this one has ${key.length}.`);
  if (/[\p{Cc}\p{Cs}]/u.test(key)) return invalidArgument('idempotencyKey', `${accepted}; this one has one.`);
  return undefined;
}

function other(): FailureOf<'InvalidArgument'> {
  return invalidArgument(
    'idempotencyKey',
    'This idempotencyKey has been used for another request: each needs its own.',
  );
}
