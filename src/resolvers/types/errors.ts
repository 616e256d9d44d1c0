import type { Failure, FailureKind } from '../../allocator/failure.js';
import { codeOf } from '../../errors/code.js';
import { remediesFor } from '../../errors/remedies.js';

/** What every error type adds to the failure's own fields. */
const errorFields = {
  code: (failure: Failure) => codeOf[failure.kind],
  remedies: (failure: Failure) => remediesFor(failure),
};

/** One resolver map for each error type. */
export const errorTypes = Object.fromEntries(Object.keys(codeOf).map((kind) => [kind, errorFields])) as Record<
  FailureKind,
  typeof errorFields
>;
