import { finding, type Finding } from '../meta/conditions.js';
import { parseInstant } from '../units/time.js';
import { layouts } from '../paymaster/layouts.js';
import type { ProfileConfig } from './chain-config.js';
import { checkAddresses, checksumFinding, worstOf } from './checksum.js';
import { quotaExceeded, findQuota } from './platform.js';
import type { Paymaster, PaymasterSpec } from '../resources/paymaster.js';
import { conflicts, countBefore, rank } from './ranking.js';
import type { PaymasterSources } from './sources.js';

/** Why the paymaster itself is not accepted; undefined when nothing is wrong, apart perhaps from its funding. */
export function findRefusal(sources: PaymasterSources): Finding | undefined {
  const { paymaster, organisation } = sources;
  const { name, chainId, previousKeyUntil } = paymaster.spec;
  if (organisation === undefined)
    return finding(
      'Accepted',
      'NoOrganisation',
      `No Organisation has spec.namespace "${paymaster.metadata.namespace}": ask the platform for one.`,
    );
  if (previousKeyUntil !== undefined && parseInstant(previousKeyUntil) === undefined)
    return finding('Accepted', 'Invalid', 'spec.previousKeyUntil must be an RFC 3339 time.');
  const checksum = checkChecksums(sources);
  if (checksum?.type === 'Accepted') return checksum;
  const isProgrammed = ({ metadata }: Paymaster): boolean => sources.programmed.has(metadata.name);
  const self = sources.siblings.find(({ metadata }) => metadata.name === paymaster.metadata.name);
  const rivals = sources.siblings.filter(({ spec }) => spec.name === name && spec.chainId === chainId);
  const holder = self && conflicts(rank(rivals, isProgrammed), () => name).get(self);
  if (holder !== undefined)
    return finding(
      'Accepted',
      'NameConflict',
      `Paymaster ${holder.metadata.name} has the name "${name}" on chain ${chainId}: delete one and create it under another name.`,
    );
  const quota = findQuota(organisation, sources.platform, 'paymasters');
  if (
    self !== undefined &&
    quota !== undefined &&
    countBefore(sources.siblings, self, isProgrammed) >= quota.count
  )
    return quotaExceeded(quota, 'paymasters');
  const chains = organisation.spec.chains;
  if (chains !== undefined && !chains.includes(chainId))
    return finding(
      'Accepted',
      'ChainNotAllowed',
      `The Organisation may use the chains ${list(chains)}, not ${chainId}: ask the platform.`,
    );
  return undefined;
}

/** Checksums of the funding wallet and the factories. An address that is already served stays. */
export function checkChecksums(sources: PaymasterSources): Finding | undefined {
  return worstOf([checksumOfFunding(sources), checkFactories(sources)?.told]);
}

export function checksumOfFunding({ paymaster, previous }: PaymasterSources): Finding | undefined {
  const address = paymaster.spec.funding?.address;
  if (address === undefined) return undefined;
  const isInUse = previous?.fundingAddress?.toLowerCase() === address.toLowerCase();
  return checksumFinding('spec.funding.address', address, isInUse);
}

/** Undefined when the paymaster allows any factory. */
export function checkFactories({
  paymaster,
  previous,
}: PaymasterSources): ReturnType<typeof checkAddresses> | undefined {
  const { accountFactories } = paymaster.spec;
  if (accountFactories === undefined) return undefined;
  return checkAddresses('spec.accountFactories', accountFactories, previous?.accountFactories);
}

/** Whether the chain and version that the paymaster names are offered. */
export function resolution(
  { paymaster, chain, offeredChains }: PaymasterSources,
  profile: ProfileConfig | undefined,
): Finding {
  const { chainId, version } = paymaster.spec;
  if (chain === undefined)
    return finding(
      'ResolvedRefs',
      'ChainNotFound',
      `No Chain with chainId ${chainId} is offered; offered: ${list(offeredChains)}.`,
    );
  if (profile !== undefined && !canDemandSignature(paymaster.spec, profile))
    return finding(
      'ResolvedRefs',
      'AccountSignatureUnsupported',
      `Version "${version}" cannot demand the account's signature: its contract reads no separate paymaster signature.`,
    );
  if (profile !== undefined) return finding('ResolvedRefs', 'ResolvedRefs');
  const offered = chain.profiles.map((each) => each.version);
  return finding(
    'ResolvedRefs',
    'VersionNotFound',
    `Chain ${chainId} has no version "${version}"; offered: ${list(offered)}.`,
  );
}

/** Only with a second phase does the account sign before the paymaster. */
function canDemandSignature(
  { requireAccountSignature }: PaymasterSpec,
  { layout, options }: ProfileConfig,
): boolean {
  return requireAccountSignature !== true || layouts[layout].readsTail(options);
}

function list(values: readonly (string | number)[]): string {
  return values.length === 0 ? 'none' : values.join(', ');
}
