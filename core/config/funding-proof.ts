import { verifyMessage } from 'ethers/hash';
import { isAddressText, parseAddress, type Address } from '../units/address.js';
import { formatInstant, parseInstant, type EpochMs } from '../units/time.js';

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
  if (signerOf(text, claim.signature) !== parseAddress(claim.address))
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

function signerOf(text: string, signature: string): string | undefined {
  try {
    return verifyMessage(text, signature);
  } catch {
    return undefined;
  }
}

function unproven(problem: string): FundingVerdict {
  return { proven: false, problem };
}
