import type { QueryResolvers } from '../../schema/generated/resolver-types.js';

/** A budget by name, or all. */
export const budgetQueries: QueryResolvers = {
  budget: (_root, { name }, { allocator }) => allocator.budgets.read(name),
  budgets: (_root, _args, { allocator }) => allocator.budgets.list(),
};
