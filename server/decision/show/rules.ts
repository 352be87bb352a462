import type { ChainConfig } from '../../../core/config/chain-config.js';
import { glanceAt, type ServedPolicies } from '../../../core/policy/derived.js';
import type { Glance, GlanceAt, PolicyFacts } from '../../../core/policy/kind.js';
import { modes, describeVerdict } from '../../../core/policy/modes.js';
import { decideCalls } from '../../../core/policy/rules/allow-list/decide.js';
import { decideCampaign } from '../../../core/policy/rules/campaign.js';
import { decideDeniedSender, decideSuspended } from '../../../core/policy/rules/served.js';
import { given } from '../../../core/units/given.js';
import { formatInstant } from '../../../core/units/time.js';
import type { CounterId, Mode } from '../../../core/usage/reservation.js';
import type { ServedPaymaster } from '../../view/served-paymaster.js';

export type RulesAt = GlanceAt & {
  readonly paymaster: ServedPaymaster;
  /** Undefined: it is not served. */
  readonly chain: Pick<ChainConfig, 'suspended' | 'deniedSenders'> | undefined;
  readonly listOf: PolicyFacts['listOf'];
  /** That the request names. */
  readonly campaign?: string;
};

/** One rule of a paymaster for people: a policy, or what else decides about all its operations. */
export type Rule = Omit<Glance, 'shadow' | 'turnsAt'> & {
  /** Of a policy its `policyType`. */
  readonly policyType: string;
  readonly enforcement: 'Enforce' | 'Shadow';
  readonly appliesTo: readonly Mode[];
  readonly turnsAt?: string;
};

type Other = Glance & { readonly policyType: string };

/** Every rule of a paymaster with what it says now, and about the request if there is one. Nothing here decides. */
export function listRules(at: RulesAt): readonly Rule[] {
  return [...others.flatMap((other) => other(at)), ...listPolicies(at)].map(render);
}

export function counterKey({ unit, counter }: CounterId): string {
  return `${unit} ${counter}`;
}

/** Those that judge the request, then those of other campaigns, which say nothing about it. */
function listPolicies({ paymaster, facts, ...at }: RulesAt): readonly Other[] {
  const judging = glanceAt(paymaster, { ...at, ...given({ facts }) });
  const known = new Set(judging.map(({ policyId }) => policyId));
  const campaigns: readonly ServedPolicies[] = [...(paymaster.campaigns?.active.values() ?? [])].map(
    ({ judges }) => judges,
  );
  const ofOthers = campaigns
    .flatMap((judges) => glanceAt(judges, at))
    .filter(({ campaign, policyId }) => campaign !== undefined && !known.has(policyId));
  return [...judging, ...ofOthers];
}

const sponsored: readonly Mode[] = ['SPONSORED'];
const inShadow = { shadow: true } as const;

/** What decides besides policies, each row one kind; empty where it is not set. */
const others: readonly ((at: RulesAt) => readonly Other[])[] = [
  ({ paymaster, chain }) => {
    const { chainId } = paymaster;
    const verdict = decideSuspended(paymaster, { chainId, suspended: chain?.suspended === true });
    return verdict.pass ? [] : [refusing('SUSPENDED', 'Suspended', verdict.detail)];
  },
  ({ paymaster: { chainId, notReady }, chain }) => {
    if (chain === undefined)
      return [refusing('NOT_READY', 'CHAIN_UNKNOWN', `chain ${chainId} is not served`)];
    return notReady === undefined ? [] : [refusing('NOT_READY', notReady.reason, notReady.message)];
  },
  ({ paymaster: { invalidPolicies, invalidInTokens }, facts }) =>
    (facts?.mode === 'ERC20' ? invalidInTokens : invalidPolicies).map((name) => ({
      ...refusing('INVALID_POLICY', name, 'was never accepted, so nothing passes'),
      appliesTo: invalidInTokens.includes(name) ? modes : sponsored,
    })),
  ({ paymaster: { chainId }, chain, listOf, facts }) => {
    const hash = chain?.deniedSenders;
    if (hash === undefined) return [];
    const [policyType, name] = ['DENIED_SENDERS', "The platform's denied senders"];
    const denied = listOf(hash);
    if (denied === undefined) return [refusing(policyType, name, 'their list is not here yet')];
    const verdict = facts && decideDeniedSender(chainId, denied, facts.op.sender);
    const usual = `refuses ${denied.size === 1 ? '1 account' : `${denied.size} accounts`} on chain ${chainId}`;
    return [{ policyType, name, appliesTo: modes, ...describeVerdict(usual, verdict) }];
  },
  ({ paymaster: { campaigns }, campaign: name, facts, now }) => {
    if (campaigns === undefined) return [];
    const { active, isEnforced, withoutIsAllowed } = campaigns;
    const names = active.size === 0 ? 'none is active' : [...active.keys()].join(', ');
    const usual = `${withoutIsAllowed ? 'requests may name' : 'requests have to name'} a campaign: ${names}`;
    const verdict = facts && decideCampaign(campaigns, { name, mode: facts.mode, now });
    return [
      {
        policyType: 'CAMPAIGNS',
        name: 'Campaigns',
        appliesTo: modes,
        ...(isEnforced ? {} : inShadow),
        ...describeVerdict(usual, verdict),
      },
    ];
  },
  ({ paymaster: { allowList, contractsInShadow }, facts }) => {
    const verdict = facts?.mode === 'SPONSORED' ? decideCalls(allowList, facts.calls, facts.op) : undefined;
    const usual = contractsText(allowList);
    return [
      {
        policyType: 'CONTRACTS',
        name: 'Contracts',
        ...(contractsInShadow ? inShadow : {}),
        ...describeVerdict(usual, verdict),
      },
    ];
  },
];

function refusing(policyType: string, name: string, says: string): Other {
  return { policyType, name, says, verdict: 'refuse', appliesTo: modes };
}

function contractsText(allowList: ServedPaymaster['allowList']): string {
  if (allowList.kind === 'open') return 'calls of every contract pass';
  if (allowList.kind === 'closed') return 'no contract is registered, so every call is refused';
  const { contracts, paused } = allowList;
  const count = 'address' in contracts ? 1 : 'size' in contracts ? contracts.size : contracts.length;
  const passing = `the listed methods of ${count === 1 ? '1 contract' : `${count} contracts`} pass`;
  return paused === undefined ? passing : `${passing}, and ${paused.size} more are paused`;
}

function render({ policyType, shadow, turnsAt, appliesTo = sponsored, ...glance }: Other): Rule {
  return {
    policyType,
    ...glance,
    appliesTo,
    enforcement: shadow === true ? 'Shadow' : 'Enforce',
    ...(turnsAt === undefined ? {} : { turnsAt: formatInstant(turnsAt) }),
  };
}
