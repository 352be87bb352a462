import { decideAccountSignature } from '../../core/policy/rules/account-signature.js';
import { decideCalls } from '../../core/policy/rules/allow-list/decide.js';
import { decideDelegate } from '../../core/policy/rules/delegate.js';
import { decideFees } from '../../core/policy/rules/price-guard/decide.js';
import { decideAuthorization } from '../../core/policy/rules/authorization.js';
import { decideFactory } from '../../core/policy/rules/factory.js';
import { decideFunding } from '../../core/policy/rules/funding.js';
import { decideSuspended } from '../../core/policy/rules/suspended.js';
import { decideValidPolicies } from '../../core/policy/rules/valid-policies.js';
import type { Verdict } from '../../core/refusal.js';
import { policyDecisions } from '../../core/policy/derived.js';
import { guardOf } from '../view/served-chain.js';
import type { RequestFacts } from './facts.js';
import type { SponsorCase } from './sponsored-case.js';
import { step, type Step } from './step.js';

/** The rules that apply in both modes and need only the gathered facts: `suspended`, then `standing`. */
const suspended = step<RequestFacts>('suspended', ({ paymaster, chain }) =>
  decideSuspended(paymaster, chain),
);
/** Where the account must have signed, a request for data at once is refused before anything else is looked at. */
const accountSignature = step<RequestFacts>(
  'accountSignature',
  ({ paymaster, request }) => decideAccountSignature(paymaster, request.phase),
  { applies: ({ paymaster }) => paymaster.requiresAccountSignature },
);
const standing: readonly Step<RequestFacts>[] = [
  step('factory', decideFactories),
  step('delegate', decideDelegation),
  // While a wallet asks for a stub it fills in a placeholder: its user signs once the operation is complete.
  step('authorization', ({ chain, request }) => decideAuthorization(request.op, chain.recover), {
    isOfSigned: true,
  }),
  step('fees', decidePrices),
];

/** Mode ERC20 has no other rules, since the user pays. */
export const rulesOfAnyMode: readonly Step<RequestFacts>[] = [suspended, accountSignature, ...standing];

export const rulesOfSponsored: readonly Step<SponsorCase>[] = [
  suspended,
  accountSignature,
  step('funding', ({ funding, paymaster, profile }) =>
    decideFunding(funding, { version: profile.version, organisation: paymaster.namespace }),
  ),
  step('policies', ({ paymaster }) => decideValidPolicies(paymaster.invalidPolicies)),
  step('calls', ({ paymaster, calls, request }) => decideCalls(paymaster.allowList, calls, request.op)),
  ...policyDecisions.map(({ step: name, decide }) =>
    step<SponsorCase>(name, ({ paymaster, calls, request, now }) =>
      decide(paymaster, { op: request.op, calls, allowList: paymaster.allowList, now }),
    ),
  ),
  ...standing,
];

function decidePrices({ chain, paymaster, head, request }: RequestFacts): Verdict {
  return decideFees(guardOf(chain, paymaster.gas), head, request.op);
}

function decideFactories({ chain, paymaster, profile, request }: RequestFacts): Verdict {
  const lists = { chain: chain.accountFactories, paymaster: paymaster.accountFactories };
  return decideFactory(lists, request.op, profile.entryPointVersion);
}

function decideDelegation({ chain, profile, request }: RequestFacts): Verdict {
  return decideDelegate(chain, request.op, profile.entryPointVersion);
}
