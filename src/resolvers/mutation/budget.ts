import { HOST_BUDGET } from '../../allocator/budgets.js';
import type { MutationResolvers } from '../../schema/generated/resolver-types.js';
import { budgetRequest } from '../requests.js';

/** Making, changing and removing budgets. */
export const budgetMutations: MutationResolvers = {
  setHostBudget: (_root, { input }, { allocator }) => allocator.budgets.update(HOST_BUDGET, input),
  createBudget: (_root, { input }, { allocator }) => allocator.budgets.create(budgetRequest(input)),
  updateBudget: (_root, { input: { name, ...change } }, { allocator }) => allocator.budgets.update(name, change),
  deleteBudget: (_root, { name }, { allocator }) => allocator.budgets.delete(name),
};
