import { compilePaymaster, type CompiledPaymaster } from '../../core/config/compile.js';
import type { ChainConfig } from '../../core/config/chain-config.js';
import type { PaymasterConfig } from '../../core/config/paymaster-config.js';
import type { Quotas } from '../../core/config/platform.js';
import type { Tenant } from '../../core/config/tenant.js';
import type { Problem } from '../../core/errors.js';
import { isConditionTrue, type Finding } from '../../core/meta/conditions.js';
import { formatKey, keyOf } from '../../core/meta/meta.js';
import type { WebhookUrlRules } from '../../core/policy/webhook/webhook-url.js';
import { readMethodsInParts } from '../../core/resources/abi.js';
import type { AnyResource } from '../../core/resources/kinds.js';
import type { Organisation } from '../../core/resources/organisation.js';
import type { EpochMs } from '../../core/units/time.js';
import type { ProposedResources } from './proposal-reader.js';

export type CompileContext = {
  readonly organisation: Organisation;
  readonly tenant: Tenant;
  /** The time of compilation. */
  readonly now: EpochMs;
  /** The begin of the replay. */
  readonly from: EpochMs;
  readonly chains: readonly ChainConfig[];
  readonly quotas: Quotas;
  readonly webhookUrls: WebhookUrlRules;
  readonly served: PaymasterConfig | undefined;
  /** The config that was compiled last. */
  readonly previous: PaymasterConfig | undefined;
};

/** `refused`: the proposed objects that would not be accepted. */
export type CompiledProposal = Pick<CompiledPaymaster, 'config' | 'lists'> & {
  readonly refused: readonly Problem[];
};

/** Nobody asks a replay by a key, so no key is given to its thread. */
const noKeys = { current: new Uint8Array(32) };

/** What would be served for one paymaster, by the operator's own steps. */
export function compileProposed(
  { paymasters, contracts, policies, proposed }: ProposedResources,
  name: string,
  context: CompileContext,
): CompiledProposal {
  const paymaster = paymasters.find(({ metadata }) => metadata.name === name);
  if (paymaster === undefined) throw new RangeError(`there is no Paymaster ${name}`);
  const { organisation, chains, previous, now } = context;
  const ofIt = ({ spec }: { readonly spec: { readonly paymasterRef: { readonly name: string } } }): boolean =>
    spec.paymasterRef.name === name;
  const compiled = compilePaymaster({
    paymaster,
    contracts: contracts.filter(ofIt),
    policies: policies.filter(ofIt),
    organisation,
    // The operator alone knows the platform's default; it is the value that was compiled last.
    platform: { quotas: context.quotas, defaultContractAction: previous?.defaultContractAction ?? 'Allow' },
    siblings: paymasters,
    programmed: new Set(
      paymasters.filter((each) => isConditionTrue(each, 'Programmed')).map(({ metadata }) => metadata.name),
    ),
    chain: chains.find(({ chainId }) => chainId === paymaster.spec.chainId),
    offeredChains: chains.map(({ chainId }) => chainId),
    masterKeys: noKeys,
    previous,
    readMethods: readMethodsInParts,
    policyRules: context,
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
  return { config: withStandingCycles(compiled.config, context), lists: compiled.lists, refused };
}

function problemOf(object: AnyResource, { reason, message }: Finding): Problem {
  return {
    field: `resources: ${object.kind} ${formatKey(keyOf(object))}`,
    expected: `acceptable (${reason}: ${message})`,
  };
}

/**
 * A limit that is changed starts a new cycle when the change is served. A replay asks how the changed limit would have
 * counted then, so it keeps the cycle of the limit that it replaces, if that is as long; else its cycle begins with the range.
 */
function withStandingCycles(
  config: PaymasterConfig,
  { served, now, from }: Pick<CompileContext, 'served' | 'now' | 'from'>,
): PaymasterConfig {
  const limits = config.limits.map((limit) => {
    if (limit.startMs !== now) return limit;
    const former = served?.limits.find(({ policyId }) => policyId === limit.policyId);
    return {
      ...limit,
      startMs: former !== undefined && former.durationMs === limit.durationMs ? former.startMs : from,
    };
  });
  return { ...config, limits };
}
