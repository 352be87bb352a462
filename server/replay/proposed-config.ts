import { compilePaymaster } from '../../core/config/compile.js';
import type { ChainConfig } from '../../core/config/chain-config.js';
import type { ConfigStore } from '../../core/config/config-store.js';
import { paymasterIdOf } from '../../core/config/ids.js';
import type { PaymasterConfig } from '../../core/config/paymaster-config.js';
import type { Quotas } from '../../core/config/platform.js';
import type { Tenant } from '../../core/config/tenant.js';
import { invalidInput, type Problem } from '../../core/errors.js';
import { isConditionTrue, type Finding } from '../../core/meta/conditions.js';
import { formatKey, keyOf } from '../../core/meta/meta.js';
import type { WebhookUrlRules } from '../../core/policy/webhook/webhook-url.js';
import { readMethodsInParts } from '../../core/resources/abi.js';
import type { AnyResource } from '../../core/resources/kinds.js';
import type { Organisation } from '../../core/resources/organisation.js';
import type { Paymaster } from '../../core/resources/paymaster.js';
import type { MasterKeys } from '../../core/secrets.js';
import type { EpochMs } from '../../core/units/time.js';
import type { ProposedResources } from './proposal.js';
import type { ReplayConfig } from './replayer.js';

export type ProposalDeps = {
  readonly configs: Pick<ConfigStore, 'getLatest' | 'getPaymaster' | 'getChain'>;
  readonly masterKeys: Pick<MasterKeys, 'current' | 'previous'>;
  readonly webhookUrls: WebhookUrlRules;
  readonly quotas: Quotas;
};

export type Proposal = ProposedResources & {
  readonly organisation: Organisation;
  readonly tenant: Tenant;
  /** The time of compilation. */
  readonly now: EpochMs;
  /** The begin of the replay. */
  readonly from: EpochMs;
};

/**
 * What would be served with the proposed resources: configs of paymasters that no proposed object is about stay as they are
 * served, the others are compiled by the operator's own steps. Throws INVALID_INPUT when a proposed object would not be
 * accepted, with the text of its condition.
 */
export async function proposedConfig(deps: ProposalDeps, proposal: Proposal): Promise<ReplayConfig> {
  const { paymasters: all, tenant } = proposal;
  const chains = new Map<number, ChainConfig>();
  for (const chainId of new Set(all.map(({ spec }) => spec.chainId))) {
    const stored = await deps.configs.getChain(chainId);
    if (stored !== undefined) chains.set(chainId, stored.config);
  }
  const paymasters: PaymasterConfig[] = [];
  const problems: Problem[] = [];
  for (const paymaster of all) {
    const paymasterId = paymasterIdOf(tenant, paymaster.metadata.name);
    const served = (await deps.configs.getPaymaster(paymasterId))?.config;
    if (!isAbout(proposal, paymaster)) {
      if (served !== undefined) paymasters.push(served);
      continue;
    }
    const { config, refused } = await compile(deps, proposal, paymaster, chains);
    problems.push(...refused);
    paymasters.push(withStandingCycles(config, served, proposal));
  }
  problems.push(...orphans(proposal));
  if (problems.length > 0) throw invalidInput(problems);
  return { paymasters, chains: [...chains.values()] };
}

/** Whether a proposed object is the paymaster, or belongs to it. */
function isAbout({ proposed, contracts, policies }: Proposal, paymaster: Paymaster): boolean {
  if (proposed.has(paymaster)) return true;
  const { name } = paymaster.metadata;
  return [...contracts, ...policies].some(
    (object) => proposed.has(object) && object.spec.paymasterRef.name === name,
  );
}

async function compile(
  { configs, masterKeys, webhookUrls, quotas }: ProposalDeps,
  { paymasters, contracts, policies, proposed, organisation, tenant, now }: Proposal,
  paymaster: Paymaster,
  chains: ReadonlyMap<number, ChainConfig>,
): Promise<{ readonly config: PaymasterConfig; readonly refused: readonly Problem[] }> {
  const { name } = paymaster.metadata;
  const previous = (await configs.getLatest(paymasterIdOf(tenant, name)))?.config;
  const ofIt = ({ spec }: { readonly spec: { readonly paymasterRef: { readonly name: string } } }): boolean =>
    spec.paymasterRef.name === name;
  const compiled = compilePaymaster({
    paymaster,
    contracts: contracts.filter(ofIt),
    policies: policies.filter(ofIt),
    organisation,
    // The operator alone knows the platform's default; it is the value that was compiled last.
    platform: { quotas, defaultContractAction: previous?.defaultContractAction ?? 'Allow' },
    siblings: paymasters,
    programmed: new Set(
      paymasters.filter((each) => isConditionTrue(each, 'Programmed')).map(({ metadata }) => metadata.name),
    ),
    chain: chains.get(paymaster.spec.chainId),
    offeredChains: [...chains.keys()],
    masterKeys,
    previous,
    readMethods: readMethodsInParts,
    webhookRules: webhookUrls,
    now,
  });
  const found: readonly { readonly object: AnyResource; readonly accepted: Finding }[] = [
    { object: paymaster, accepted: compiled.accepted },
    { object: paymaster, accepted: compiled.resolved },
    ...compiled.contracts,
    ...compiled.policies,
  ];
  const refused = found.flatMap(({ object, accepted }) =>
    (proposed as ReadonlySet<AnyResource>).has(object) && accepted.status === 'False'
      ? [problemOf(object, accepted)]
      : [],
  );
  return { config: compiled.config, refused };
}

function problemOf(object: AnyResource, { reason, message }: Finding): Problem {
  return {
    field: `resources: ${object.kind} ${formatKey(keyOf(object))}`,
    expected: `acceptable (${reason}: ${message})`,
  };
}

/** Proposed contracts and policies of a paymaster that does not exist. */
function orphans({ paymasters, contracts, policies, proposed }: Proposal): readonly Problem[] {
  const names = new Set(paymasters.map(({ metadata }) => metadata.name));
  return [...contracts, ...policies].flatMap((object) => {
    const { name } = object.spec.paymasterRef;
    if (!proposed.has(object) || names.has(name)) return [];
    return [
      {
        field: `resources: ${object.kind} ${formatKey(keyOf(object))}`,
        expected: `for a Paymaster that exists; "${name}" does not`,
      },
    ];
  });
}

/**
 * A limit that is changed starts a new cycle when the change is served. A replay asks how the changed limit would have
 * counted then, so it keeps the cycle of the limit that it replaces, if that is as long; else its cycle begins with the range.
 */
function withStandingCycles(
  config: PaymasterConfig,
  served: PaymasterConfig | undefined,
  { now, from }: Pick<Proposal, 'now' | 'from'>,
): PaymasterConfig {
  const limits = config.limits.map((limit) => {
    if (limit.startMs !== now) return limit;
    const former = served?.limits.find(({ policyId }) => policyId === limit.policyId);
    return { ...limit, startMs: former?.durationMs === limit.durationMs ? former.startMs : from };
  });
  return { ...config, limits };
}
