import type { AnswerRecord, BudgetChange, BudgetReading, BudgetTerms } from '../../native/index.js';
import { isFailure, type Outcome } from './failure.js';
import { checkName } from './names.js';
import { madeAndGone, type Repeatable } from './repeats.js';
import type { ServiceDeps } from './service-deps.js';
import { type IfExists, identityOf } from './specification.js';

/** The budget that always exists. */
export const HOST_BUDGET = 'host';

/** How much may be promised. */
export interface Budget extends BudgetReading {
  readonly kind: 'Budget';
}

/** A budget to make. */
export interface BudgetRequest extends BudgetTerms, Repeatable {
  name: string;
  ifExists: IfExists;
}

/** The budgets: `host`, and those with a name of their own; and the log of their changes. */
export class Budgets {
  constructor(private readonly deps: Pick<ServiceDeps, 'native' | 'log' | 'repeats'>) {}

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
  create(request: BudgetRequest): Promise<Outcome<Budget>> {
    return this.deps.repeats.once<Budget>({
      operation: 'createBudget',
      key: request.idempotencyKey,
      request: identityOf(request),
      first: (answerFor) => this.#create(request, answerFor(request.name)),
      resultOf: ({ name }) => name,
      again: async (name) => (await this.read(name)) ?? madeAndGone('budget', request.name),
    });
  }

  /** Changes a budget. What is undefined stays, what is null goes back to its default. */
  async update(name: string, change: BudgetChange): Promise<Outcome<Budget>> {
    return this.#logged('budget changed', await this.deps.native.updateBudget(name, change));
  }

  /** Removes a budget that holds nothing; answers what it was. */
  async delete(name: string): Promise<Outcome<Budget>> {
    const deleted = await this.deps.repeats.ending('createBudget', name, (answers) =>
      this.deps.native.deleteBudget(name, answers),
    );
    return this.#logged('budget deleted', deleted);
  }

  async #create(request: BudgetRequest, answer: AnswerRecord | undefined): Promise<Outcome<Budget>> {
    const { name, ifExists, idempotencyKey: _key, ...terms } = request;
    const invalid = checkName(name);
    if (invalid !== undefined) return invalid;
    const made = await this.deps.native.createBudget(name, terms, false, answer);
    // Asked for anew only now, so that the log tells what was made from what was there.
    if (isFailure(made) && made.kind === 'NameTaken' && ifExists === 'Return')
      return asBudget(await this.deps.native.createBudget(name, terms, true, answer));
    return this.#logged('budget created', made);
  }

  /** A change has a line with what the budget is then (a deleted one: was); why there was none is the caller's to know. */
  #logged(message: string, reading: Outcome<BudgetReading>): Outcome<Budget> {
    if (!isFailure(reading)) this.deps.log.info(logFields(reading), message);
    return asBudget(reading);
  }
}

/** Of the shares their number: there may be thousands. */
function logFields({ name, rankShares: _, ...figures }: BudgetReading) {
  return { budget: name, ...figures };
}

function asBudget(reading: Outcome<BudgetReading>): Outcome<Budget> {
  return isFailure(reading) ? reading : { kind: 'Budget', ...reading };
}
