import type { BudgetReading, HostBudgetChange } from '../../native/index.js';
import { isFailure, type Outcome } from './failure.js';
import type { ServiceDeps } from './service-deps.js';

/** How much may be promised. */
export interface Budget extends BudgetReading {
  readonly kind: 'Budget';
}

/** The budgets; in this version only `host`. */
export class Budgets {
  constructor(private readonly deps: Pick<ServiceDeps, 'native'>) {}

  /** The figures now; undefined when there is no such budget. */
  async read(name: string): Promise<Budget | undefined> {
    const reading = await this.deps.native.readBudget(name);
    return reading == null ? undefined : { kind: 'Budget', ...reading };
  }

  /** Changes the budget `host`. */
  async setHost(change: HostBudgetChange): Promise<Outcome<Budget>> {
    const reading = await this.deps.native.setHostBudget(change);
    return isFailure(reading) ? reading : { kind: 'Budget', ...reading };
  }
}
