import type { Failure, FailureKind, FailureOf } from '../../allocator/failure.js';
import { codeOf } from '../../errors/code.js';
import { remediesFor } from '../../errors/remedies.js';

/** What every error type adds to the failure's own fields. */
const errorFields = {
  code: (failure: Failure) => codeOf[failure.kind],
  remedies: (failure: Failure) => remediesFor(failure),
};

const shared = Object.fromEntries(Object.keys(codeOf).map((kind) => [kind, errorFields])) as Record<
  FailureKind,
  typeof errorFields
>;

/** One resolver map for each error type. */
export const errorTypes = {
  ...shared,
  LeaseExpired: { ...errorFields, expiredAt: ({ expiredAt }: FailureOf<'LeaseExpired'>) => new Date(expiredAt) },
};
