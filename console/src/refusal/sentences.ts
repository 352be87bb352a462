import { amounts, short, words } from '../format.js';
import type { Known } from '../paymasters.js';
import type { Call, Contract, Policy, TracedDecision } from '../records.js';
import { pageHref } from '../route.js';

/** A refused decision with the names of what it is about; each is undefined where nobody knows it, or it is gone. */
type Told = {
  readonly decision: TracedDecision;
  /** The paymaster, as people call it, and its object. */
  readonly who: string;
  readonly object: string;
  /** The call that was refused, as `counter.burn`. */
  readonly call?: string | undefined;
  readonly target?: string | undefined;
  readonly method?: string | undefined;
  readonly contract?: Contract | undefined;
  readonly policy?: Policy | undefined;
};

/** A link to the form that would let the operation pass, filled in. Nothing is saved there by itself. */
export type Fix = { readonly label: string; readonly href: string };

type Row = {
  readonly says: (told: Told) => string;
  readonly fix?: (told: Told) => Fix | undefined;
};

const nameRule = ({ policy }: Told): string =>
  policy === undefined ? 'A rule' : `The rule “${policy.spec.name}”`;

const changeRule =
  (verb: string) =>
  ({ policy, object }: Told): Fix | undefined =>
    policy && {
      label: `${verb} “${policy.spec.name}”`,
      href: pageHref('paymaster', { change: policy.name }, object),
    };

/** To a place on the page of the paymaster. */
const lead =
  (label: string, query: Readonly<Record<string, string>> = {}) =>
  ({ object }: Told): Fix => ({ label, href: pageHref('paymaster', query, object) });

const register = ({ object, target }: Told): Fix => ({
  label: 'Register the contract',
  href: pageHref('paymaster', { tab: 'contracts', register: target ?? '' }, object),
});

const rows: Readonly<Record<string, Row>> = {
  METHOD_NOT_WHITELISTED: {
    says: ({ who, call }) => `“${who}” does not pay for ${call ?? 'this method'}.`,
    fix: ({ object, contract, method, call }) =>
      contract && {
        label: `Allow ${call ?? 'the method'}`,
        href: pageHref('paymaster', { tab: 'contracts', change: contract.name, methods: method }, object),
      },
  },
  CONTRACT_NOT_REGISTERED: {
    says: ({ who, target }) =>
      `“${who}” pays for no call of ${target ?? 'this contract'}: it is not registered.`,
    fix: register,
  },
  OPEN_SPONSORSHIP_DENIED: {
    says: ({ who }) => `“${who}” has no contract yet, and pays for nothing until one is registered.`,
    fix: register,
  },
  CONTRACT_PAUSED: {
    says: ({ contract, target }) => `The contract ${contract?.spec.name ?? target ?? ''} is paused.`,
    fix: lead('Resume it under Contracts', { tab: 'contracts' }),
  },
  DEPLOYMENT_NOT_ALLOWED: {
    says: ({ who }) => `The operation only deploys an account, which “${who}” does not pay for.`,
    fix: lead('Allow the deployment of wallets', { add: 'WALLET_DEPLOYMENT' }),
  },
  SUSPENDED: {
    says: ({ who }) => `“${who}”, or its chain, is suspended.`,
    fix: (told) => lead(`Resume “${told.who}” on its page`)(told),
  },
  LIMIT_REACHED: {
    says: (told) => `${nameRule(told).replace('rule', 'limit')} has not enough left for the operation.`,
    fix: changeRule('Raise'),
  },
  COST_TOO_HIGH: {
    says: (told) =>
      `The operation may cost more than ${nameRule(told).replace('The', 'the')} allows for one.`,
    fix: changeRule('Raise'),
  },
  USAGE_LOST: {
    says: (told) => `What was used of ${nameRule(told).replace('The rule', 'the limit')} is not known.`,
    fix: changeRule('Begin anew with'),
  },
  WINDOW_CLOSED: {
    says: (told) => `${nameRule(told).replace('rule', 'time window')} is closed.`,
    fix: changeRule('Move'),
  },
  SENDER_NOT_ALLOWED: {
    says: (told) => `${nameRule(told)} does not serve the account ${told.decision.sender}.`,
    fix: changeRule('Change'),
  },
  EXPRESSION_REFUSED: {
    says: (told) => `${nameRule(told).replace('rule', 'expression')} does not hold for the operation.`,
    fix: changeRule('Change'),
  },
  WEBHOOK_REFUSED: {
    says: (told) => `${nameRule(told).replace('rule', 'webhook')} said no.`,
    fix: changeRule('Change'),
  },
  WEBHOOK_FAILED: {
    says: (told) => `${nameRule(told).replace('rule', 'webhook')} did not answer as it should.`,
    fix: changeRule('Change'),
  },
  POLICY_REFUSED: { says: (told) => `${nameRule(told)} refuses the operation.`, fix: changeRule('Change') },
  POLICY_INVALID: {
    says: ({ who }) => `A rule of “${who}” was never valid, so that nothing passes.`,
    fix: lead('See the rules'),
  },
  NOT_FUNDED: {
    says: ({ who }) => `“${who}” has no wallet that pays.`,
    fix: lead('Set one', { tab: 'money' }),
  },
  DEPOSIT_TOO_LOW: {
    says: ({ who }) => `The account that pays for “${who}” has too little for this operation.`,
    fix: lead('See the accounts that pay', { tab: 'money' }),
  },
};

/** Why it was refused, as one sentence. */
export function describeRefusal(told: Told): string {
  const { reason, detail } = told.decision;
  const row = rows[reason ?? ''];
  if (row !== undefined) return row.says(told);
  return `${words(reason ?? 'refused')}${detail === null ? '.' : `: ${amounts(detail)}.`}`;
}

export function findFix(told: Told): Fix | undefined {
  return rows[told.decision.reason ?? '']?.fix?.(told);
}

export function callName({ name, selector, contractId, target }: Call): string {
  return `${contractId ?? short(target)}.${name ?? selector}`;
}

/** Puts names to what a decision refused. */
export function nameRefused(
  decision: TracedDecision,
  paymaster: Known,
  contracts: readonly Contract[],
  policies: readonly Policy[],
): Told {
  const { calls, detail, reason } = decision;
  // The detail begins with which call it was.
  const [, index] = /^call (\d+) /.exec(detail ?? '') ?? [];
  const call = calls[Number(index ?? 0)];
  const policyId =
    decision.policies.find(({ effect }) => effect === 'refused')?.policyId ??
    decision.trace.find((step) => step.reason === reason)?.policyId;
  return {
    decision,
    who: paymaster.name,
    object: paymaster.object,
    call: call && callName(call),
    target: call?.target,
    method: call?.name ?? undefined,
    contract: contracts.find(({ spec }) => spec.address.toLowerCase() === call?.target.toLowerCase()),
    policy: policies.find(({ id }) => id === policyId),
  };
}
