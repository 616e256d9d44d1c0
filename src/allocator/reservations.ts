import { type AnswerRecord, HostReservations, type ReservationReading } from '../../native/index.js';
import { isFailure, leaseExpired, notFound, type Outcome } from './failure.js';
import { IdIssuer } from './ids.js';
import { withMemoryContext } from './memory-context.js';
import { type AnswerFor, madeAndGone } from './repeats.js';
import { checkHolder, type Reservation, type ReservationRequest, reservationOf } from './reservation.js';
import type { ServiceDeps } from './service-deps.js';
import { identityOf } from './specification.js';

/** How often ends that nobody called about are looked for, to be logged; the memory itself is given back at once. */
const LOG_INTERVAL_MS = 250;

/** What other processes hold: the ids they know it by, and the log of its grants and ends. */
export class Reservations {
  readonly #ids: IdIssuer;
  readonly #native: HostReservations;
  readonly #logTimer: NodeJS.Timeout;

  /** Throws when the system has no thread or descriptor to watch processes with. */
  constructor(private readonly deps: ServiceDeps) {
    this.#ids = new IdIssuer('reservation', deps.state.idKey);
    this.#native = new HostReservations(deps.native, deps.state.native);
    this.#logTimer = setInterval(() => void this.#logEnds(), LOG_INTERVAL_MS).unref();
  }

  /** Every live reservation, oldest first. */
  async list(): Promise<Reservation[]> {
    const readings = await this.#native.list();
    return readings.map((reading) => this.#reservation(reading));
  }

  /** Counts memory that somebody maps, until it is released, expires or its process dies. */
  reserve(request: ReservationRequest): Promise<Outcome<Reservation>> {
    const doing = {
      operation: 'reserveHostMemory',
      key: request.idempotencyKey,
      request: identityOf(request),
      // The addon knows the number, and puts it into the answer.
      first: (answerFor: AnswerFor) => this.#reserve(request, answerFor('')),
      resultOf: ({ id }: Reservation) => String(this.#ids.numberOf(id)),
      again: (number: string) => this.#find(Number(number)),
    };
    return this.deps.activity.track(() => this.deps.repeats.once(doing));
  }

  /** Its holder has faulted it in. Twice is no error. */
  commit(id: string): Promise<Outcome<Reservation>> {
    return this.#change(id, (number) => this.#native.commit(number));
  }

  /** It lasts so many seconds from now. */
  renew(id: string, ttlSeconds: number): Promise<Outcome<Reservation>> {
    return this.#change(id, (number) => this.#native.renew(number, ttlSeconds));
  }

  /** Gives it back. Twice is no error. */
  async release(id: string): Promise<Outcome<Reservation>> {
    const released = await this.#change(id, (number) => this.#native.release(number));
    await this.#logEnds();
    return released;
  }

  /** Logs what has ended, and stops looking. What is live goes on: the next start has it again. */
  async close(): Promise<void> {
    clearInterval(this.#logTimer);
    await this.#logEnds();
    if (this.deps.state.path !== undefined) return;
    const live = await this.list();
    if (live.length === 0) return;
    const bytes = live.reduce((sum, reservation) => sum + reservation.bytes, 0);
    this.deps.log.warn({ reservations: live.length, bytes }, 'reservations end with this process');
  }

  async #find(number: number): Promise<Outcome<Reservation>> {
    const reading = await this.#native.find(number);
    return reading == null ? madeAndGone('reservation', this.#ids.idOf(number)) : this.#reservation(reading);
  }

  async #reserve(request: ReservationRequest, answer: AnswerRecord | undefined): Promise<Outcome<Reservation>> {
    const invalid = checkHolder(request.holder);
    if (invalid !== undefined) return invalid;
    const reading = await this.#native.reserve(request, answer);
    if (isFailure(reading)) return withMemoryContext(this.deps.native, reading, request);
    const reservation = this.#reservation(reading);
    this.deps.log.info(logFields(reservation), 'reservation granted');
    return reservation;
  }

  async #change(
    id: string,
    change: (number: number) => Promise<Outcome<ReservationReading>>,
  ): Promise<Outcome<Reservation>> {
    const number = this.#ids.numberOf(id);
    if (number === undefined) return notFound('reservation', id);
    const outcome = await change(number);
    if (!isFailure(outcome)) return reservationOf(outcome, id);
    if (outcome.kind === 'NotFound') return notFound('reservation', id);
    return outcome.kind === 'LeaseExpired' ? leaseExpired(outcome, id) : outcome;
  }

  async #logEnds(): Promise<void> {
    for (const reading of await this.#native.takeEnded()) {
      const ended = this.#reservation(reading);
      const fields = { ...logFields(ended), reason: ended.state };
      if (ended.state === 'Released') this.deps.log.info(fields, 'reservation ended');
      else this.deps.log.warn(fields, 'reservation ended');
    }
  }

  #reservation(reading: ReservationReading): Reservation {
    return reservationOf(reading, this.#ids.idOf(reading.id));
  }
}

function logFields({ id, holder, pid, budget, rank, bytes }: Reservation) {
  return { id, holder, pid, budget, rank, bytes };
}
