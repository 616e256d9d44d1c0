import type { Allocator } from '../allocator/allocator.js';
import type { SlotAllowance } from '../allocator/slots.js';
import type { Doctor } from '../doctor/doctor.js';

/** What every resolver is given. */
export interface RequestContext {
  readonly allocator: Allocator;
  readonly doctor: Doctor;
  /** hostpool's version. */
  readonly version: string;
  /** Echoed as x-request-id, and in every log line of the request. */
  readonly requestId: string;
  /** How many slots this request may still list and give back one by one. */
  readonly slotAllowance: SlotAllowance;
  /** Aborts when the server shuts down: streams end. */
  readonly closing: AbortSignal;
}
