import { decideCalls } from '../../core/policy/rules/allow-list/decide.js';
import { decideDelegate } from '../../core/policy/rules/delegate.js';
import { decideFees, decideGasLimits } from '../../core/policy/rules/price-guard/decide.js';
import { decideAuthorization } from '../../core/policy/rules/authorization.js';
import { decideFactory } from '../../core/policy/rules/factory.js';
import { pass, refuse, type Verdict } from '../../core/refusal.js';
import { policyDecisions } from '../../core/policy/derived.js';
import { toSeconds } from '../../core/units/time.js';
import type { FinalUserOperation } from '../../core/entry-point/user-operation.js';
import { boundedPreVerificationGas } from '../../core/userop/pre-verification-gas.js';
import { guardOf } from '../view/served-chain.js';
import type { RequestFacts, SponsorCase } from './case.js';
import { stubData } from './gas-limits.js';
import { termsOf } from './terms.js';

/** A rule that is decided from what is at hand. Its name is what `pm_explainSponsorship` shows. */
export type Rule<Facts> = { readonly name: string; readonly decide: (facts: Facts) => Verdict };

const authorization: Rule<RequestFacts> = {
  name: 'authorization',
  decide: ({ chain, request }) => decideAuthorization(request.op, chain.recover),
};

/** In the order in which they are asked; the first refusal wins. */
export const rulesAtOnce: readonly Rule<SponsorCase>[] = [
  { name: 'suspended', decide: decideSuspended },
  { name: 'funding', decide: decideFunding },
  { name: 'policies', decide: decidePolicies },
  {
    name: 'calls',
    decide: ({ paymaster, calls, request }) => decideCalls(paymaster.allowList, calls, request.op),
  },
  ...policyDecisions.map(({ step, decide }) => ({
    name: step,
    decide: ({ paymaster, calls, request, now }: SponsorCase) =>
      decide(paymaster, { op: request.op, calls, allowList: paymaster.allowList, now }),
  })),
  { name: 'factory', decide: decideFactories },
  { name: 'delegate', decide: decideDelegation },
  authorization,
  { name: 'fees', decide: decidePrices },
];

/** Rules that hold whoever pays; in mode ERC20 there are no others, since the user pays. */
export const rulesOfAnyMode: readonly Rule<RequestFacts>[] = [
  { name: 'suspended', decide: decideSuspended },
  { name: 'factory', decide: decideFactories },
  { name: 'delegate', decide: decideDelegation },
  authorization,
  { name: 'fees', decide: decidePrices },
];

/** A wallet fills in a placeholder while it asks for a stub: it has its user sign when the operation is complete. */
export const rulesOfStub = rulesAtOnce.filter((rule) => rule !== authorization);
export const rulesOfTokenStub = rulesOfAnyMode.filter((rule) => rule !== authorization);

export function firstRefusal<Facts>(rules: readonly Rule<Facts>[], facts: Facts): Verdict {
  for (const rule of rules) {
    const verdict = rule.decide(facts);
    if (!verdict.pass) return verdict;
  }
  return pass;
}

/** Caps and floors of the limits that will be signed. */
export function decideGas(facts: SponsorCase, op: FinalUserOperation): Verdict {
  const { chain, paymaster, profile } = facts;
  return decideGasLimits(guardOf(chain, paymaster.gas), op, {
    minVerificationGasLimit: profile.layout.sponsorship.minVerificationGasLimit,
    ownPreVerificationGas: () =>
      boundedPreVerificationGas(op, stubData(profile, op, termsOf(facts, toSeconds(facts.now)))),
  });
}

function decidePrices({ chain, paymaster, head, request }: RequestFacts): Verdict {
  return decideFees(guardOf(chain, paymaster.gas), head, request.op);
}

function decideSuspended({ paymaster, chain }: RequestFacts): Verdict {
  if (paymaster.suspended) return refuse('SUSPENDED', 'the paymaster is suspended');
  return chain.suspended ? refuse('SUSPENDED', `chain ${chain.chainId} is suspended`) : pass;
}

function decideFunding({ funding, paymaster, profile }: SponsorCase): Verdict {
  if (funding !== undefined) return pass;
  return refuse(
    'NOT_FUNDED',
    `version "${profile.version}" has no wallet that pays for organisation "${paymaster.namespace}"`,
  );
}

function decidePolicies({ paymaster }: SponsorCase): Verdict {
  if (paymaster.invalidPolicies.length === 0) return pass;
  const names = paymaster.invalidPolicies.map((name) => `"${name}"`).join(', ');
  return refuse('POLICY_INVALID', `never valid: ${names}`);
}

function decideFactories({ chain, paymaster, profile, request }: RequestFacts): Verdict {
  const lists = { chain: chain.accountFactories, paymaster: paymaster.accountFactories };
  return decideFactory(lists, request.op, profile.entryPointVersion);
}

function decideDelegation({ chain, profile, request }: RequestFacts): Verdict {
  return decideDelegate(chain, request.op, profile.entryPointVersion);
}
