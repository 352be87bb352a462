import { verifyMessage } from 'ethers/hash';
import { finding, type Finding } from '../meta/conditions.js';
import type { Organisation } from '../resources/organisation.js';
import type { Paymaster } from '../resources/paymaster.js';
import { hasWrongChecksum, isAddressText, parseAddress, type Address } from '../units/address.js';
import type { ProfileConfig } from './chain-config.js';
import { tenantOfOrganisation } from './tenant.js';
import { formatInstant, parseInstant, type EpochMs } from '../units/time.js';

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
  return profile.defaultFunding === undefined || findDefaultFunding(profile, namespace) !== undefined;
}

/** The profile's default funding wallet, if it serves this organisation. */
export function findDefaultFunding(profile: ProfileConfig, namespace: string): Address | undefined {
  const organisations = profile.defaultFunding?.organisations ?? [];
  const serves = organisations.includes('*') || organisations.includes(namespace);
  return serves ? profile.defaultFunding?.address : undefined;
}

function notProven(message: string): Funding {
  return { refused: finding('Accepted', 'FundingNotProven', message) };
}

/**
 * What a funding wallet agrees to: one paymaster of one organisation may spend the wallet's deposit on one contract.
 */
export type FundingTerms = {
  readonly chainId: number;
  /** Contract that pays in mode SPONSORED. */
  readonly contract: Address;
  /** The tenant: its namespace, or `namespace@generation`, see tenant.ts. */
  readonly namespace: string;
  /** `metadata.name` of the Paymaster. */
  readonly paymaster: string;
};

export type FundingMessage = FundingTerms & {
  /** 8 to 64 letters, digits, `_` and `-`; makes every message different. */
  readonly nonce: string;
  readonly time: EpochMs;
};

export type FundingClaim = FundingTerms & {
  /** The wallet that is claimed to have signed. */
  readonly address: string;
  readonly message: string;
  /** EIP-191 signature of the message: 0x and 130 hex digits. */
  readonly signature: string;
};

/** `problem` completes the sentence "the proof is not accepted: …" and never quotes the signature. */
type FundingVerdict = { readonly proven: true } | { readonly proven: false; readonly problem: string };

/**
 * The text that a funding wallet signs with `personal_sign`. It contains every field that bounds what the signature
 * permits. Otherwise another tenant of a shared contract could replay the signature and spend the deposit.
 */
export function fundingMessage(message: FundingMessage): string {
  return [
    'Welcome! Signing this text makes your wallet the funding wallet of a paymaster:',
    'its deposit in the paymaster contract pays for the operations that the paymaster sponsors.',
    'It sends no transaction and costs nothing.',
    '',
    `Chain id: ${message.chainId}`,
    `Paymaster contract: ${message.contract}`,
    `Organisation: ${message.namespace}`,
    `Paymaster: ${message.paymaster}`,
    `Nonce: ${message.nonce}`,
    `Time: ${formatInstant(message.time)}`,
  ].join('\n');
}

/** Judges a claim: the message must be ours, word for word, for exactly these terms, and signed by the address. */
export function verifyFunding(claim: FundingClaim): FundingVerdict {
  if (!isAddressText(claim.address)) return unproven('the address is not 0x and 40 hex digits');
  // A YAML block scalar ends with a line break that the wallet did not show and sign.
  const text = claim.message.replace(/\n$/, '');
  const message = parseFundingMessage(text);
  if (message === undefined) return unproven('the message is not a funding message of this service');
  const differing = termsThatDiffer(message, claim);
  if (differing !== undefined) return unproven(differing);
  if (recoverSigner(text, claim.signature) !== parseAddress(claim.address))
    return unproven(`the signature is not one of ${parseAddress(claim.address)} over the message`);
  return { proven: true };
}

/** The fields of a funding message; undefined for any text that differs from our format in any way. */
export function parseFundingMessage(text: string): FundingMessage | undefined {
  const match = pattern.exec(text)?.groups;
  if (match === undefined) return undefined;
  const { chainId, contract, namespace, paymaster, nonce, time } = match;
  if (contract === undefined || namespace === undefined || paymaster === undefined) return undefined;
  const signedAt = parseInstant(time ?? '');
  if (nonce === undefined || signedAt === undefined) return undefined;
  const message: FundingMessage = {
    chainId: Number(chainId),
    contract: parseAddress(contract),
    namespace,
    paymaster,
    nonce,
    time: signedAt,
  };
  // Compare the whole text, so that nobody can hide text between the fields and have it signed unread.
  return fundingMessage(message) === text ? message : undefined;
}

const pattern =
  /\nChain id: (?<chainId>[1-9][0-9]{0,15})\nPaymaster contract: (?<contract>0x[0-9a-fA-F]{40})\nOrganisation: (?<namespace>[a-z0-9.-]+(?:@[0-9]+)?)\nPaymaster: (?<paymaster>[a-z0-9.-]+)\nNonce: (?<nonce>[A-Za-z0-9_-]{8,64})\nTime: (?<time>[0-9TZ:.-]{24})$/;

function termsThatDiffer(message: FundingTerms, claim: FundingTerms): string | undefined {
  const fields = ['chainId', 'contract', 'namespace', 'paymaster'] as const;
  const names = {
    chainId: 'chain id',
    contract: 'paymaster contract',
    namespace: 'organisation',
    paymaster: 'paymaster',
  };
  const field = fields.find((name) => message[name] !== claim[name]);
  return field && `the message names ${names[field]} ${message[field]}, this one is ${claim[field]}`;
}

function recoverSigner(text: string, signature: string): string | undefined {
  try {
    return verifyMessage(text, signature);
  } catch {
    return undefined;
  }
}

function unproven(problem: string): FundingVerdict {
  return { proven: false, problem };
}
