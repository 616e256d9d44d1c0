import type { ReservationReading, ReservationSpec } from '../../native/index.js';
import { type FailureOf, invalidArgument } from './failure.js';
import type { Repeatable } from './repeats.js';

/** Memory that another process maps itself. */
export interface Reservation extends Omit<ReservationReading, 'id' | 'createdAt' | 'expiresAt'> {
  readonly kind: 'Reservation';
  readonly id: string;
  readonly createdAt: Date;
  readonly expiresAt: Date | undefined;
}

/** Memory to count for somebody. */
export interface ReservationRequest extends ReservationSpec, Repeatable {}

/** The longest holder, in characters (UTF-16 code units). */
export const MAX_HOLDER_LENGTH = 256;

/** Why a holder is not acceptable; undefined when it is. It is not repeated: it may be huge or unprintable. */
export function checkHolder(holder: string): FailureOf<'InvalidArgument'> | undefined {
  const accepted = `A holder has 1 to ${MAX_HOLDER_LENGTH} characters and no control characters`;
  if (holder.length === 0) return invalidArgument('holder', `${accepted}; this one is empty.`);
  if (holder.length > MAX_HOLDER_LENGTH)
    return invalidArgument('holder', `${accepted}; this one has ${holder.length}.`);
  if (/[\p{Cc}\p{Cs}\p{Zl}\p{Zp}]/u.test(holder)) return invalidArgument('holder', `${accepted}; this one has one.`);
  return undefined;
}

/** The addon's reading under the id that callers know it by. */
export function reservationOf(reading: ReservationReading, id: string): Reservation {
  const { createdAt, expiresAt } = reading;
  const times = {
    createdAt: new Date(createdAt),
    expiresAt: expiresAt === undefined ? undefined : new Date(expiresAt),
  };
  return { kind: 'Reservation', ...reading, id, ...times };
}
