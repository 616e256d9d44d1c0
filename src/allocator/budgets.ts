import type { BudgetChange, BudgetReading, BudgetTerms } from '../../native/index.js';
import { isFailure, type Outcome } from './failure.js';
import { checkName } from './names.js';
import type { ServiceDeps } from './service-deps.js';
import type { IfExists } from './specification.js';

/** The budget that always exists. */
export const HOST_BUDGET = 'host';

/** How much may be promised. */
export interface Budget extends BudgetReading {
  readonly kind: 'Budget';
}

/** A budget to make. */
export interface BudgetRequest extends BudgetTerms {
  name: string;
  ifExists: IfExists;
}

/** The budgets: `host`, and those with a name of their own. */
export class Budgets {
  constructor(private readonly deps: Pick<ServiceDeps, 'native'>) {}

  /** The figures now; undefined when there is no such budget. */
  async read(name: string): Promise<Budget | undefined> {
    const reading = await this.deps.native.readBudget(name);
    return reading == null ? undefined : { kind: 'Budget', ...reading };
  }

  /** The figures of every budget at one moment, `host` first. */
  async list(): Promise<Budget[]> {
    const readings = await this.deps.native.readBudgets();
    return readings.map((reading) => ({ kind: 'Budget', ...reading }));
  }

  /** Makes a budget, or answers with the one that `ifExists` allows. */
  async create({ name, ifExists, ...terms }: BudgetRequest): Promise<Outcome<Budget>> {
    return checkName(name) ?? asBudget(await this.deps.native.createBudget(name, terms, ifExists === 'Return'));
  }

  /** Changes a budget. What is undefined stays, what is null goes back to its default. */
  async update(name: string, change: BudgetChange): Promise<Outcome<Budget>> {
    return asBudget(await this.deps.native.updateBudget(name, change));
  }

  /** Removes a budget that holds nothing; answers what it was. */
  async delete(name: string): Promise<Outcome<Budget>> {
    return asBudget(await this.deps.native.deleteBudget(name));
  }
}

function asBudget(reading: Outcome<BudgetReading>): Outcome<Budget> {
  return isFailure(reading) ? reading : { kind: 'Budget', ...reading };
}
