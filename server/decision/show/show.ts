import type { Address } from '../../../core/units/address.js';
import { formatDecimal, formatCoins } from '../../../core/units/wei.js';
import { ordinaryDataFee } from '../../../core/chain/data-fee/data-gas.js';
import { given } from '../../../core/units/given.js';
import type { PolicyFacts } from '../../../core/policy/kind.js';
import { allWork } from '../../../core/policy/steps-left.js';
import type { Trace } from '../run.js';
import type { PlannedReservation } from '../reservation.js';
import type { Case } from '../step.js';
import { renderFigure, unitRow } from '../../../core/usage/units.js';
import { counterKey, listRules } from './rules.js';
import { unusedFees } from '../steps/unused-gas.js';
import type { PaymasterGas } from '../../../core/entry-point/user-operation.js';

// The parts that explanations of both modes show, for people. Nothing here decides.

/** The outcome that a request would have: null when only a skipped step (`undecided`) could still refuse it. */
export function showOutcome(
  { steps, stoppedBy, undecided }: Trace,
  namesOfUndecided: readonly string[] = [],
): object {
  return {
    sponsored: stoppedBy === undefined ? (undecided.length === 0 ? true : null) : false,
    ...(undecided.length === 0 ? {} : { undecided: namesOfUndecided }),
    ...(stoppedBy?.reason === undefined ? {} : { reason: stoppedBy.reason }),
    steps,
  };
}

/** What policies in Shadow would refuse. */
export function showShadow({ shadow }: Case): object {
  const wouldRefuse = shadow.found.map(({ policyId, reason, detail }) => ({ policyId, reason, detail }));
  return wouldRefuse.length === 0 ? {} : { wouldRefuse };
}

/** Where policies have campaigns: those that are active, for the owner. */
export function showCampaigns({ paymaster: { campaigns }, request }: Case): object {
  if (campaigns === undefined) return {};
  return { campaigns: { ...given({ named: request.campaign }), active: [...campaigns.active.keys()] } };
}

/** Every rule, with what it says about this request. Limits that no peek has looked at tell their threshold alone. */
export function showRules({ paymaster, chain, now, listOf, usage, request }: Case, facts: PolicyFacts) {
  const { limits = [] } = usage?.request ?? {};
  const states = new Map(limits.map((limit, at) => [counterKey(limit), usage?.peeked.limits[at]]));
  return {
    rules: listRules({
      paymaster,
      chain: chain.config,
      now,
      listOf,
      // The steps of the decision have taken their own.
      facts: { ...facts, workLeft: allWork() },
      used: (id) => states.get(counterKey(id)),
      ...given({ campaign: request.campaign }),
    }),
  };
}

export function showPaymaster({ paymaster, profile }: Case, contract: Address): object {
  return {
    paymasterId: paymaster.paymasterId,
    chainId: paymaster.chainId,
    version: paymaster.version,
    configGeneration: paymaster.configGeneration,
    layout: profile.layout.id,
    entryPoint: profile.entryPoint,
    contract,
  };
}

/** Empty while the limits are not known. `maxCost`: the EntryPoint's prefund in wei. */
export function showGas(
  gathered: Case,
  { gas, maxCost }: { readonly gas: PaymasterGas; readonly maxCost: (op: NonNullable<Case['op']>) => bigint },
): object {
  const { op, estimating } = gathered;
  if (op === undefined) return showDataFee(gathered);
  const unused = unusedFees(gathered, op, gas);
  return {
    gas: {
      estimated: estimating,
      callGasLimit: op.callGasLimit.toString(),
      verificationGasLimit: op.verificationGasLimit.toString(),
      preVerificationGas: op.preVerificationGas.toString(),
      maxFeePerGas: op.maxFeePerGas.toString(),
      maxPriorityFeePerGas: op.maxPriorityFeePerGas.toString(),
      maxCost: formatDecimal(maxCost(op), 18),
      unusedGasFee: formatDecimal(unused.fee, 18),
      maxUnusedGasFee: formatDecimal(unused.cap, 18),
    },
    ...showDataFee(gathered),
  };
}

/** What the chain charges for posted data; empty where it charges nothing. Amounts of coins. */
function showDataFee({ chain, dataReading, now }: Case): object {
  const { dataFee: spec } = chain;
  if (spec.kind === 'None') return {};
  return {
    dataFee: {
      ...spec,
      ...(dataReading === undefined
        ? {}
        : {
            ordinaryOperation: formatDecimal(ordinaryDataFee(spec, dataReading.price), 18),
            readAt: new Date(dataReading.observedAt).toISOString(),
            ageSeconds: Math.max(0, Math.floor((now - dataReading.observedAt) / 1000)),
          }),
    },
  };
}

/**
 * Deposits, and bounds on what is promised at once: operations of the paymaster, the organisation's share of a deposit, and in mode
 * ERC20 what unsecured payments may lose. `taken` is held by other operations and, where losses count, includes those of the day.
 * `needed` is absent while the operation's limits are not known. Empty when the usage store did not answer.
 */
export function showUsage({ usage, op }: Case) {
  if (usage === undefined) return { deposits: [], bounds: [] };
  const { peeked, request } = usage;
  const { accounts, holds } = request;
  const last = accounts.at(-1);
  return {
    deposits: peeked.accounts.map(({ contract, fundingAddress, balance, reserved, readAt }, index) => ({
      contract,
      unit: 'ether',
      ...(fundingAddress === undefined ? {} : { fundingAddress }),
      ...(balance === undefined ? {} : { balance: formatCoins(balance) }),
      promised: formatCoins(reserved),
      ...(op === undefined ? {} : { needed: formatCoins(accounts[index]?.need ?? 0) }),
      ...(readAt === undefined ? {} : { readAt: new Date(readAt).toISOString() }),
    })),
    bounds: peeked.holds.flatMap(({ taken, most }, index) => {
      const hold = holds[index];
      if (hold === undefined) return [];
      const { bounds, unit, cost } = hold;
      return {
        of: boundNames[bounds],
        ...(bounds === 'share' ? { account: last?.fundingAddress ?? last?.contract } : {}),
        unit: unitRow(unit).noun,
        taken: renderFigure(unit, taken),
        most: renderFigure(unit, most),
        ...(op === undefined ? {} : { needed: renderFigure(unit, cost) }),
        ...(hold.ofUnenforced === undefined ? {} : { enforcement: 'Shadow' }),
      };
    }),
  };
}

const boundNames = {
  live: 'live operations of the paymaster',
  budget: "paymaster's quarter of a budget of the organisation",
  share: "organisation's share of the deposit",
  contract: 'unsecured token payments and losses of the contract',
  organisation: 'unsecured token payments of the organisation',
  paymaster: 'unsecured token payments of the paymaster',
  account: 'unsecured token payments of the account',
} as const satisfies Record<PlannedReservation['holds'][number]['bounds'], string>;
