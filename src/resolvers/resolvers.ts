import type { Resolvers } from '../schema/generated/resolver-types.js';
import { Bytes, Count, DateTime } from '../schema/scalars.js';
import { enums } from './enums.js';
import { budgetMutations } from './mutation/budget.js';
import { hostBufferMutations } from './mutation/host-buffers.js';
import { poolMutations } from './mutation/pools.js';
import { reservationMutations } from './mutation/reservations.js';
import { slotMutations } from './mutation/slots.js';
import { budgetQueries } from './query/budget.js';
import { doctorQueries } from './query/doctor.js';
import { errorCatalogQueries } from './query/error-catalog.js';
import { hostQueries } from './query/host.js';
import { hostBufferQueries } from './query/host-buffers.js';
import { planQueries } from './query/plans.js';
import { poolQueries } from './query/pools.js';
import { reservationQueries } from './query/reservations.js';
import { budgetEventSubscriptions } from './subscription/budget-events.js';
import { hostMemorySubscriptions } from './subscription/host-memory.js';
import { poolProgressSubscriptions } from './subscription/pool-progress.js';
import { doctorTypes } from './types/doctor.js';
import { errorTypes } from './types/errors.js';
import { hostBufferTypes } from './types/host-buffer.js';
import { poolTypes } from './types/pools.js';
import { slotAllocationTypes } from './types/slot-allocation.js';
import { unions } from './types/unions.js';

/** Every resolver. They translate; the service decides. */
export const resolvers: Resolvers = {
  Bytes,
  Count,
  DateTime,
  ...enums,
  ...unions,
  ...errorTypes,
  ...poolTypes,
  ...hostBufferTypes,
  ...slotAllocationTypes,
  ...doctorTypes,
  Query: {
    ...hostQueries,
    ...budgetQueries,
    ...poolQueries,
    ...hostBufferQueries,
    ...reservationQueries,
    ...planQueries,
    ...errorCatalogQueries,
    ...doctorQueries,
  },
  Mutation: {
    ...poolMutations,
    ...slotMutations,
    ...hostBufferMutations,
    ...budgetMutations,
    ...reservationMutations,
  },
  Subscription: { ...poolProgressSubscriptions, ...hostMemorySubscriptions, ...budgetEventSubscriptions },
};
