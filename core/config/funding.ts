import { finding, type Finding } from '../meta/conditions.js';
import type { Organisation } from '../resources/organisation.js';
import type { Paymaster } from '../resources/paymaster.js';
import { hasWrongChecksum, isAddressText, parseAddress, type Address } from '../units/address.js';
import type { ProfileConfig } from './chain-config.js';
import { verifyFunding } from './funding-proof.js';
import { tenantOfOrganisation } from './tenant.js';

type Funding = {
  /** The proven wallet that the paymaster itself names. */
  readonly address?: Address;
  /** Set when the paymaster names a wallet and nothing shows that the wallet agreed. */
  readonly refused?: Finding;
};

/**
 * Which wallet may pay for a paymaster. A wallet counts when the platform has listed it in the Organisation, or when
 * it has signed a message for exactly this paymaster. A listed wallet with a wrong checksum counts only if it is
 * already `inUse`.
 */
export function resolveFunding(
  paymaster: Paymaster,
  organisation: Organisation,
  profile: ProfileConfig,
  inUse?: Address,
): Funding {
  const funding = paymaster.spec.funding;
  if (funding === undefined) return {};
  if (!isAddressText(funding.address)) return notProven('spec.funding.address must be 0x and 40 hex digits.');
  const address = parseAddress(funding.address);
  const isListed = (organisation.spec.fundingAddresses ?? []).some(
    (listed) =>
      listed.toLowerCase() === address.toLowerCase() && (address === inUse || !hasWrongChecksum(listed)),
  );
  if (isListed) return { address };
  const terms = {
    chainId: paymaster.spec.chainId,
    contract: profile.sponsorship,
    namespace: tenantOfOrganisation(organisation),
    paymaster: paymaster.metadata.name,
  };
  if (funding.message === undefined || funding.signature === undefined)
    return notProven(
      `Sign the funding message with ${address} and give message and signature in spec.funding, or list the address in fundingAddresses of Organisation ${organisation.metadata.name}.`,
    );
  const verdict = verifyFunding({
    ...terms,
    ...funding,
    message: funding.message,
    signature: funding.signature,
  });
  if (verdict.proven) return { address };
  return notProven(`The proof in spec.funding is not accepted: ${verdict.problem}.`);
}

/**
 * Whether an organisation may spend the single deposit of a contract that keeps no balance per wallet. Everyone may,
 * unless the profile lists organisations. A wallet that the paymaster names makes no difference there.
 */
export function maySpendSharedDeposit(profile: ProfileConfig, namespace: string): boolean {
  return profile.defaultFunding === undefined || defaultFundingOf(profile, namespace) !== undefined;
}

/** The profile's default funding wallet, if it serves this organisation. */
export function defaultFundingOf(profile: ProfileConfig, namespace: string): Address | undefined {
  const organisations = profile.defaultFunding?.organisations ?? [];
  const serves = organisations.includes('*') || organisations.includes(namespace);
  return serves ? profile.defaultFunding?.address : undefined;
}

function notProven(message: string): Funding {
  return { refused: finding('Accepted', 'FundingNotProven', message) };
}
