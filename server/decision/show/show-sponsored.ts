import { countedScope } from '../../../core/policy/kind.js';
import { traceCalls } from '../../../core/policy/rules/allow-list/decide.js';
import { never } from '../../../core/usage/window.js';
import { formatAmount } from '../../../core/usage/units.js';
import type { Trace } from '../run.js';
import {
  showCampaigns,
  showGas,
  showOutcome,
  showPaymaster,
  showRules,
  showShadow,
  showUsage,
} from './show.js';
import { isOpen } from '../../view/served-paymaster.js';
import { factsInSponsored } from '../steps/rules.js';
import { askedPolicies } from '../steps/sponsored.js';
import type { SponsorCase } from '../steps/sponsored-case.js';

/** Everything that decides about an operation in mode SPONSORED. Amounts of ether and gwei are decimal text in ether. */
export async function showSponsored(gathered: SponsorCase, trace: Trace): Promise<object> {
  await gathered.shadowsAsked;
  const { paymaster, profile, options, paymasterGas, funding, calls } = gathered;
  const asked = askedPolicies(paymaster);
  return {
    mode: 'SPONSORED',
    ...showOutcome(
      trace,
      asked.map(({ name }) => name),
    ),
    paymaster: {
      ...showPaymaster(gathered, profile.contract),
      ...(isOpen(paymaster) ? { openSponsorship: true } : {}),
      ...(profile.keepsBalances && funding !== undefined ? { fundingAddress: funding } : {}),
    },
    account: calls.outcome === 'calls' ? calls.signature : '',
    // Each by itself; an operation passes when all of them do.
    calls: traceCalls(paymaster.allowList, calls),
    ...showGas(gathered, {
      gas: paymasterGas,
      maxCost: (op) => profile.layout.sponsorship.need(op, options).entryPoint,
    }),
    limits: showLimits(gathered),
    ...showRules(gathered, factsInSponsored(gathered)),
    ...showCampaigns(gathered),
    ...showShadow(gathered),
    ...showUsage(gathered),
    webhooks: asked.map(({ policyId, name, onError }) =>
      gathered.outcomes === undefined
        ? { name, verdict: 'not asked' }
        : { name, onError, ...gathered.outcomes.get(policyId) },
    ),
  };
}

function showLimits({ usage, op }: SponsorCase): readonly object[] {
  if (usage === undefined) return [];
  const { peeked, request } = usage;
  return request.limits.map(({ policy, unit, threshold, cost, window }, index) => {
    const counter = peeked.limits[index];
    const used = (counter?.used ?? 0) + (counter?.reserved ?? 0);
    return {
      policyId: policy.policyId,
      name: policy.name,
      ...(policy.shadow === true ? { enforcement: 'Shadow' } : {}),
      scope: countedScope(policy),
      thresholdType: unit,
      threshold: formatAmount(unit, threshold),
      used: formatAmount(unit, used),
      left: formatAmount(unit, Math.max(0, threshold - used)),
      ...(op === undefined ? {} : { needed: formatAmount(unit, cost) }),
      ...(window.until === never ? {} : { resetsAt: new Date(window.until).toISOString() }),
    };
  });
}
