import { compilePaymaster } from '../../../core/config/compile.js';
import type { ChainConfig } from '../../../core/config/chain-config.js';
import type { PaymasterConfig } from '../../../core/config/paymaster-config.js';
import { deriveBudgetId, derivePolicyId } from '../../../core/config/ids.js';
import type { Tenant } from '../../../core/config/tenant.js';
import type { Budget as BudgetSpec } from '../../../core/policy/budget.js';
import type { CycleStatus, SpendingLimitSpec } from '../../../core/policy/spending-limit/schema.js';
import type { EpochMs } from '../../../core/units/time.js';
import { servePaymaster, type ServedPaymaster } from '../../../server/view/served-paymaster.js';
import { createSharing } from '../../../server/view/sharing.js';
import { aPaymaster, aPolicy, anOrganisation } from '../../build/resources.js';
import { someSources } from '../../build/sources.js';
import { countingOf, endOf, type Counting } from './counting.js';
import type { Rules } from './oracle.js';
import { budgetNames, paymasters, textOf, type Budget, type Cycle, type Limit } from './written.js';

type Slot = {
  readonly created: number;
  generation: number;
  limit: Limit;
  /** As the model counts; undefined: it never had a threshold. */
  counting: Counting | undefined;
  /** The status of the object, as the operator wrote it last. */
  status: CycleStatus | undefined;
};
type Gone = { readonly counting: Counting; readonly until: number };

/** A paymaster with its limits: as it is written, as the service compiles it, and as the model counts. */
export class TenantPaymaster {
  readonly organisation: Tenant;
  readonly name: string;
  isWithoutCampaignAllowed = false;
  readonly #slots = new Map<number, Slot>();
  readonly #gone = new Map<number, Gone>();
  readonly #chain: ChainConfig;
  #config: PaymasterConfig | undefined;
  #served: ServedPaymaster | undefined;
  #created = 0;
  /** The operator has stored a config, and ended before it wrote the status. */
  #isUnnoted = false;

  constructor(index: number, chain: ChainConfig) {
    const { organisation, name } = paymasters[index]!;
    this.organisation = organisation as Tenant;
    this.name = name;
    this.#chain = chain;
  }

  get served(): ServedPaymaster {
    if (this.#served === undefined) throw new Error('nothing is served yet');
    return this.#served;
  }

  limitAt(slot: number): Limit | undefined {
    return this.#slots.get(slot)?.limit;
  }

  /** When a limit turns next; Infinity: never. */
  turnOf(slot: number, now: number): number {
    const counting = this.#slots.get(slot)?.counting;
    return counting === undefined ? Infinity : endOf(counting, now);
  }

  /** Writes a limit, and lets the operator see it. `isNoted`: false where it ends before it writes the status. */
  write(
    slot: number,
    limit: Limit,
    at: { readonly now: EpochMs; readonly isNoted: boolean; readonly budgets: Budgets },
  ): void {
    this.#noteBefore(at);
    const known = this.#slots.get(slot);
    if (known === undefined) {
      const gone = this.#gone.get(slot);
      this.#gone.delete(slot);
      const lasting = gone !== undefined && gone.until > at.now ? gone.counting : undefined;
      this.#created += 1;
      const made: Slot = {
        created: this.#created,
        generation: 1,
        limit,
        counting: lasting,
        status: undefined,
      };
      this.#slots.set(slot, made);
      this.#count(made, at.now, true);
    } else {
      known.generation += 1;
      known.limit = limit;
      this.#count(known, at.now, false);
    }
    const counts = limit.isActive && limit.threshold !== undefined;
    this.publish(at, at.isNoted || !counts);
  }

  delete(slot: number, at: { readonly now: EpochMs; readonly budgets: Budgets }): void {
    this.#noteBefore(at);
    const known = this.#slots.get(slot);
    if (known?.counting !== undefined)
      this.#gone.set(slot, { counting: known.counting, until: endOf(known.counting, at.now) });
    this.#slots.delete(slot);
    this.publish(at);
  }

  /** The operator reads everything again, and stores what it makes of it. */
  publish({ now, budgets }: { readonly now: EpochMs; readonly budgets: Budgets }, isNoted = true): void {
    // A time that was ahead may have come.
    for (const slot of this.#slots.values()) this.#count(slot, now, false);
    const paymaster = aPaymaster({
      meta: { name: this.name, namespace: this.organisation },
      name: this.name,
      ...(this.isWithoutCampaignAllowed ? { withoutCampaign: 'Allow' } : {}),
    });
    const { config, policies, accepted } = compilePaymaster(
      someSources({
        paymaster,
        policies: [...this.#slots].map(([index, slot]) => this.#policyOf(index, slot)),
        organisation: anOrganisation({
          meta: { name: this.organisation },
          namespace: this.organisation,
          defaultContractAction: 'Allow',
          budgets: budgetSpecs(budgets, this.#chain.chainId),
        }),
        chain: this.#chain,
        previous: this.#config,
        now,
      }),
    );
    const refusals = [accepted, ...policies.map((policy) => policy.accepted)].filter(
      ({ status }) => status !== 'True',
    );
    if (refusals.length > 0)
      throw new Error(`the model writes what is not accepted: ${JSON.stringify(refusals)}`);
    this.#config = { ...config, configGeneration: (this.#config?.configGeneration ?? 0) + 1 };
    this.#served = servePaymaster(this.#config, createSharing());
    this.#isUnnoted = !isNoted;
    if (!isNoted) return;
    for (const [index, slot] of this.#slots) {
      const compiled = policies.find(({ policyId }) => policyId === this.#idOf(index));
      if (compiled?.cycle !== undefined) slot.status = compiled.cycle;
    }
  }

  rules(budgets: Budgets): Rules {
    return {
      paymaster: `${this.organisation}/${this.name}`,
      limits: [...this.#slots]
        .toSorted(([, a], [, b]) => a.created - b.created)
        .map(([index, { limit, counting }]) => ({ id: this.#idOf(index), limit, counting })),
      budgets: budgets.map((budget, i) => ({
        id: deriveBudgetId(this.organisation, budgetNames[i]!),
        budget,
      })),
      isWithoutCampaignAllowed: this.isWithoutCampaignAllowed,
    };
  }

  /** What ended before it wrote the status starts again before anybody writes the next change. */
  #noteBefore(at: { readonly now: EpochMs; readonly budgets: Budgets }): void {
    if (this.#isUnnoted) this.publish(at);
  }

  #count(slot: Slot, now: number, isMadeAgain: boolean): void {
    const { limit, counting } = slot;
    if (limit.threshold === undefined) return;
    slot.counting = countingOf(limit, counting, isMadeAgain && counting !== undefined, now);
  }

  #idOf(slot: number): string {
    return derivePolicyId(this.organisation, this.#objectName(slot));
  }

  #objectName(slot: number): string {
    return `${this.name}-${slot}`;
  }

  #policyOf(index: number, { limit, generation, status, created }: Slot) {
    const { isActive, isShadow, campaign } = limit;
    return aPolicy({
      meta: {
        name: this.#objectName(index),
        namespace: this.organisation,
        generation,
        creationTimestamp: new Date(Date.UTC(2026, 0, 1) + created * 1_000).toISOString(),
      },
      paymasterRef: { name: this.name },
      name: `${limit.name} ${index}`,
      policyType: 'PAYMASTER_SA_LIMIT',
      ...(isActive ? {} : { active: false }),
      ...(isShadow ? { enforcement: 'Shadow' } : {}),
      ...(campaign === undefined ? {} : { campaign }),
      spendingLimit: specOf(limit),
      ...(status === undefined ? {} : { status: { cycle: status } }),
    });
  }
}

export type Budgets = readonly Budget[];

function specOf({
  unit,
  perSender,
  threshold,
  perOperation,
  cycle,
  startTime,
  restartedAt,
  assumeUsed,
}: Limit): SpendingLimitSpec {
  const scope = perSender ? 'SMART_ACCOUNT' : 'PAYMASTER';
  const spec: SpendingLimitSpec = {
    scope,
    thresholdType: unit,
    ...(perOperation === undefined ? {} : { perOperation: textOf(unit, perOperation) }),
  };
  if (threshold === undefined) return spec;
  return {
    ...spec,
    threshold: textOf(unit, threshold),
    ...cycleSpec(cycle),
    ...(startTime === undefined ? {} : { startTime: textOfTime(startTime) }),
    ...(restartedAt === undefined ? {} : { restartedAt: textOfTime(restartedAt) }),
    ...(assumeUsed === undefined ? {} : { assumeUsed: textOf(unit, assumeUsed) }),
  };
}

function budgetSpecs(budgets: Budgets, chain: number): readonly BudgetSpec[] {
  return budgets.map(({ usd, cycle, restartedAt, assumeUsed, isShadow }, i) => ({
    name: budgetNames[i]!,
    chain,
    usd: textOf('USD', usd),
    ...cycleSpec(cycle),
    ...(restartedAt === undefined ? {} : { restartedAt: textOfTime(restartedAt) }),
    ...(assumeUsed === undefined ? {} : { assumeUsed: textOf('USD', assumeUsed) }),
    ...(isShadow ? { enforcement: 'Shadow' as const } : {}),
  }));
}

function cycleSpec(cycle: Cycle): Pick<SpendingLimitSpec, 'cycleDuration' | 'calendar' | 'never'> {
  switch (cycle.kind) {
    case 'hours':
      return {
        cycleDuration:
          cycle.hours % 24 === 0
            ? { value: cycle.hours / 24, unit: 'day' }
            : { value: cycle.hours, unit: 'hour' },
      };
    case 'calendar':
      return { calendar: { every: cycle.every, timeZone: cycle.zone } };
    case 'never':
      return { never: {} };
  }
}

function textOfTime(at: number): string {
  return new Date(at).toISOString();
}
