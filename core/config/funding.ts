import { finding } from '../meta/conditions.js';
import type { Finding } from '../meta/conditions.js';
import type { Organisation } from '../resources/organisation.js';
import type { Paymaster } from '../resources/paymaster.js';
import { hasWrongChecksum, isAddressText, parseAddress } from '../units/address.js';
import type { Address } from '../units/address.js';
import type { ProfileConfig } from './chain-config.js';
import { verifyFunding } from './funding-proof.js';
import { tenantOfOrganisation } from './tenant.js';

export type Funding = {
  /** The proven wallet of the paymaster's own. */
  readonly address?: Address;
  /** Set when a wallet is named and nothing shows that it agreed. */
  readonly refused?: Finding;
};

/**
 * Which wallet may pay for a paymaster. A wallet is honoured when its Organisation lists it (the platform's hand), or
 * when it signed a message for exactly this paymaster. A wallet that is listed with a wrong checksum counts only where it is
 * `inUse` already.
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
 * Whether an organisation may draw on the one deposit of a contract that keeps none per wallet: unless the profile lists
 * organisations, everybody may. A wallet of the paymaster's own changes nothing there.
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
