import { GraphQLError } from 'graphql';
import type { BudgetEvent } from '../../allocator/budget-events.js';
import { isFailure } from '../../allocator/failure.js';
import { codeOf } from '../../errors/code.js';
import type { SubscriptionResolvers } from '../../schema/generated/resolver-types.js';

/** What becomes of charges, as it happens. */
export const budgetEventSubscriptions: SubscriptionResolvers = {
  budgetEvents: {
    subscribe: async (_root, { budget }, { allocator, closing }) => {
      const stream = await allocator.budgetEvents.watch(budget ?? undefined, closing);
      if (!isFailure(stream)) return stream;
      throw new GraphQLError(stream.message, { extensions: { code: codeOf[stream.kind], id: budget } });
    },
    resolve: (event: BudgetEvent) => event,
  },
};
