import type { MutationResolvers } from '../../schema/generated/resolver-types.js';

/** Changing the budget `host`. */
export const budgetMutations: MutationResolvers = {
  setHostBudget: (_root, { input }, { allocator }) => allocator.budgets.setHost(input),
};
