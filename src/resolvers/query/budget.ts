import type { QueryResolvers } from '../../schema/generated/resolver-types.js';

/** A budget by name. */
export const budgetQueries: QueryResolvers = {
  budget: (_root, { name }, { allocator }) => allocator.budgets.read(name),
};
