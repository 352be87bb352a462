import { isDomainError } from '../core/errors.js';
import type { Clock } from '../core/units/time.js';
import type { UsageStore } from '../core/usage/usage-store.js';
import type { Follower } from './follower/follower.js';
import type { Stall } from './follower/progress.js';
import { always, sharedDependency, type ReadinessCheck } from './ops/readiness.js';
import type { ConfigView } from './view/config-view.js';

/** What a process of the rpc role needs before it can sign. */
export function servingChecks(deps: {
  readonly usage: Pick<UsageStore, 'ping' | 'cursor'>;
  readonly view: Pick<ConfigView, 'synced' | 'chains' | 'hasPaymasters' | 'isStale'>;
  /** Undefined where another process follows the chains. */
  readonly follower: Pick<Follower, 'ready' | 'stalls'> | undefined;
  readonly isWarm: () => boolean;
  readonly clock: Clock;
}): readonly ReadinessCheck[] {
  const { usage, view, follower, isWarm, clock } = deps;
  const stalls = (): readonly Stall[] => follower?.stalls() ?? [];
  return [
    {
      name: 'configs-synced',
      action: 'Check that the config store answers; requests are served only from a complete state.',
      isReady: () => view.synced,
    },
    {
      // It signs nothing then. Where the API server is away for all, nobody can take pods out of a Service.
      name: 'configs-confirmed',
      action:
        'Check that this pod reaches the API server, which has not confirmed its configs for rpc.maxStalenessSeconds.',
      isReady: () => !view.isStale(),
    },
    sharedDependency(
      {
        name: 'usage-store',
        action: 'Check that the usage store answers; without it nothing is signed.',
        isReady: async () => {
          await usage.ping();
          // Before the configs are known no chain can be missing, and the check would pass for good.
          if (!view.synced) return false;
          // A store looks things up at the first use of a chain. Do it now: when the control plane goes away, a replica
          // without requests so far must serve as well as the others.
          await openChains(usage, view);
          return true;
        },
      },
      clock,
    ),
    {
      name: 'usage-data',
      action:
        'Wait, and do not restore a backup: it lacks the latest promises and counts as lost as well. The metric paymaster_usage_store_lost names the chains whose usage is lost; they are signed for again when every earlier promise has expired.',
      isAdvice: always,
      isReady: async () => !(await openChains(usage, view)).includes('lost'),
    },
    {
      name: 'paymasters',
      action:
        'Apply a Chain, an Organisation and a Paymaster, and see their conditions: nothing is there to sign for.',
      isAdvice: always,
      isReady: () => view.hasPaymasters(),
      reason: () => ([...view.chains()].length === 0 ? 'no Chain is served' : 'no Paymaster is served'),
    },
    {
      name: 'signers',
      action:
        'Mount the signing key of every profile: the condition SignerAuthorized of the Chain names the file. Only paymasters of the profiles that lack theirs are not signed for.',
      isAdvice: always,
      isReady: () => hasSigners(view),
    },
    sharedDependency(
      {
        name: 'chains-followed',
        action: 'Check that the chains answer; the log names those that do not.',
        isReady: () => view.synced && (follower?.ready() ?? true),
      },
      clock,
    ),
    {
      name: 'chains-settled',
      action:
        'See PaymasterFollowerStalled in docs/runbooks.md. This replica serves on: what is promised stays reserved in full, so limits and deposits fill early, and nothing is overspent.',
      // Shared by all replicas, so a Service without this one would not be better.
      isAdvice: always,
      isReady: () => stalls().length === 0,
      reason: () => stalls().map(formatStall).join('; '),
    },
    {
      name: 'warm-up',
      action: 'Wait: the sponsor path is being run on dummy operations.',
      isReady: isWarm,
    },
  ];
}

const why = {
  Failing: 'rounds fail, see the log',
  Waiting: 'the node does not show that block',
  NoFinality: 'the node does not say which block is final',
} as const;

function formatStall({ chainId, settled, confirmed, trouble, forMs }: Stall): string {
  const minutes = Math.floor(forMs / 60_000);
  const cause = trouble === undefined ? 'another replica follows it, or none does' : why[trouble];
  return `chain ${chainId}: block ${settled ?? 'none'} has been the last settled one for ${minutes} minutes, ${confirmed} could be settled (${cause})`;
}

function openChains(
  usage: Pick<UsageStore, 'cursor'>,
  view: Pick<ConfigView, 'chains'>,
): Promise<readonly ('open' | 'lost')[]> {
  return Promise.all(Array.from(view.chains(), ({ chainId }) => openChain(usage, chainId)));
}

/** A chain whose usage was lost refuses its own requests; this replica still serves the other chains. */
async function openChain(usage: Pick<UsageStore, 'cursor'>, chainId: number): Promise<'open' | 'lost'> {
  try {
    await usage.cursor(chainId);
    return 'open';
  } catch (error) {
    if (isDomainError(error) && error.details.reason === 'USAGE_STORE_LOST') return 'lost';
    throw error;
  }
}

/** True when this process has a signing key for every profile, and nothing is known against its signer. */
function hasSigners(view: Pick<ConfigView, 'chains'>): boolean {
  const profiles = [...view.chains()].flatMap((chain) => [...chain.profiles.values()]);
  return profiles.every((profile) => {
    const signer = profile.signer();
    return signer !== undefined && signer.trouble?.() === undefined;
  });
}
