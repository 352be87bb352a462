import type { ChainEndpoint } from '../core/chain/chain.js';
import { isDomainError } from '../core/errors.js';
import type { ReleaseFacts } from '../core/release-facts.js';
import { given } from '../core/units/given.js';
import type { Clock } from '../core/units/time.js';
import type { UsageStore } from '../core/usage/usage-store.js';
import type { Follower } from './follower/follower.js';
import type { Stall } from './follower/progress.js';
import { always, createMountCheck, sharedDependency, type ReadinessCheck } from './ops/readiness.js';
import type { ConfigView } from './view/config-view.js';

/** What a process can compare with the other pods of its release. */
export type Release = {
  readonly facts: ReleaseFacts;
  /** The usage store as this process addresses it; absent: it is in this process. */
  readonly store?: string;
  /** Whether the URLs of a chain can be read here. */
  readonly hasUrls: (endpoint: ChainEndpoint) => Promise<boolean>;
};

/** Of the usage store: see {@link sharedDependency}. */
export function usageStoreCheck(
  isReady: ReadinessCheck['isReady'],
  { release, clock }: { readonly release?: Release | undefined; readonly clock: Clock },
): ReadinessCheck {
  const known = release?.store === undefined ? undefined : { facts: release.facts, name: release.store };
  return sharedDependency(
    {
      name: 'usage-store',
      action:
        'Check that the usage store answers; without it nothing is signed. A new pod waits where nobody has ever reached the store at this host, port and name and as this user.',
      isReady,
    },
    clock,
    given({ known }),
  );
}

/** What a process of the rpc role needs before it can sign. */
export function servingChecks(deps: {
  readonly usage: Pick<UsageStore, 'ping' | 'cursor'>;
  readonly view: Pick<ConfigView, 'synced' | 'chains' | 'canSign' | 'isStale'>;
  /** Undefined where another process follows the chains. */
  readonly follower: Pick<Follower, 'ready' | 'stalls'> | undefined;
  readonly isWarm: () => boolean;
  readonly release?: Release | undefined;
  readonly clock: Clock;
}): readonly ReadinessCheck[] {
  const { usage, view, follower, isWarm, release, clock } = deps;
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
    usageStoreCheck(async () => {
      await usage.ping();
      // Before the configs are known no chain can be missing, and the check would pass for good.
      if (!view.synced) return false;
      // A store looks things up at the first use of a chain. Do it now: when the control plane goes away, a replica
      // without requests so far must serve as well as the others.
      await openChains(usage, view);
      return true;
    }, deps),
    ...(release === undefined ? [] : [mountsCheck(release, view, clock)]),
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
      isReady: () => view.canSign(),
      reason: () =>
        [...view.chains()].length === 0 ? 'no Chain is served' : 'no Paymaster can be signed for',
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
        name: 'chains-answer',
        action: 'Check that the chains answer; the log names those that do not.',
        isReady: () => view.synced && (follower?.ready() ?? true),
      },
      clock,
    ),
    {
      name: 'chains-followed',
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

function mountsCheck(
  { facts, hasUrls }: Release,
  view: Pick<ConfigView, 'synced' | 'chains'>,
  clock: Clock,
): ReadinessCheck {
  const isComplete = createMountCheck(() => mountedFor(view, hasUrls), { facts, clock });
  return {
    name: 'mounts',
    action:
      'Compare the Secrets of signers and chain URLs that this pod mounts with those of the pods that are ready: theirs have a file that is missing here, or cannot be read.',
    isReady: () => !view.synced || isComplete(),
  };
}

async function mountedFor(view: Pick<ConfigView, 'chains'>, hasUrls: Release['hasUrls']) {
  const here: string[] = [];
  const missing: string[] = [];
  for (const { config, profiles } of view.chains()) {
    const { chainId } = config;
    ((await hasUrls(config)) ? here : missing).push(`URLs of chain ${chainId}`);
    for (const { version, signer } of profiles.values())
      (signer() === undefined ? missing : here).push(`signer of ${version} on chain ${chainId}`);
  }
  return { here, missing };
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
