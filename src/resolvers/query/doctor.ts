import type { QueryResolvers } from '../../schema/generated/resolver-types.js';
import { wishRequest } from '../requests.js';

/** What this host can do, and what is in the way. */
export const doctorQueries: QueryResolvers = {
  doctor: (_root, { wish }, { doctor }) => doctor.examine(wish == null ? undefined : wishRequest(wish)),
};
