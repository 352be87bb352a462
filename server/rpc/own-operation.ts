import type { RenderedFields } from '../../core/entry-point/rules.js';
import type { FinalUserOperation } from '../../core/entry-point/user-operation.js';
import { DomainError } from '../../core/errors.js';
import { readSponsorship, readTokenPayment, type DataReading } from '../../core/paymaster/data-reading.js';
import type { Hex } from '../../core/units/hex.js';
import type { EpochSeconds } from '../../core/units/time.js';
import type { UsageStore } from '../../core/usage/usage-store.js';
import { parseUserOperation } from '../../core/userop/parse.js';
import { renderUserOperation } from '../../core/userop/render.js';
import { requireProfile } from '../decision/facts.js';
import type { ConfigView } from '../view/config-view.js';
import type { ServedChain, ServedProfile } from '../view/served-chain.js';
import type { ServedPaymaster } from '../view/served-paymaster.js';
import type { Bundlers } from './bundlers.js';
import { requireEntryPoint } from './entry-point-form.js';
import { parsePaymasterAndData, splitAnswer } from './paymaster-fields.js';

// Only operations that this service pays for reach a bundler. We send what we have parsed, never the caller's own JSON, because a
// bundler might read the same JSON in another way.

export type OwnOperationDeps = {
  readonly view: Pick<ConfigView, 'chain'>;
  readonly usage: Pick<UsageStore, 'reservations'>;
  readonly bundlers: Pick<Bundlers, 'inTurn'>;
};

/** An operation whose paymaster data name a contract of ours and have the form of ours. */
type OwnOperation = {
  readonly op: ReturnType<typeof parseUserOperation>;
  /** As bundlers take it. */
  readonly wire: RenderedFields;
  readonly profile: ServedProfile;
  readonly readings: readonly DataReading[];
};

/**
 * Reads `[operation, entryPoint]`, with these paymaster data instead of those in it if they are given. Throws INVALID_INPUT, and
 * OPERATION_NOT_OURS for one that this service does not pay for.
 */
export function readOwnOperation(
  { view }: OwnOperationDeps,
  [operation, entryPoint]: readonly unknown[],
  paymaster: ServedPaymaster,
  paymasterAndData = parsePaymasterAndData(operation),
): OwnOperation {
  const profile = requireProfile(view, paymaster);
  requireEntryPoint(entryPoint, profile, 'params[1]');
  const op = parseUserOperation(operation, profile.entryPointVersion);
  const contracts = [profile.contract, profile.token?.contract].filter((one) => one !== undefined);
  const named = [...new Set(contracts)].join(' or ');
  if (paymasterAndData === '0x')
    throw notOurs(
      'NO_PAYMASTER',
      `The operation names no paymaster: this address takes those that ${named} pays for.`,
    );
  const contract = paymasterAndData.slice(0, 42);
  if (!contracts.some((one) => one.toLowerCase() === contract))
    throw notOurs(
      'OTHER_PAYMASTER',
      `The operation names the paymaster ${contract}: this address takes those that ${named} pays for.`,
    );
  const { chainId } = paymaster;
  const recover = view.chain(chainId)?.recover;
  const readings =
    recover === undefined ? [] : readData(profile, { ...final(op), paymasterAndData }, chainId, recover);
  return { op, wire: render(op, paymasterAndData, profile), profile, readings };
}

/**
 * A signature in the tail goes into the field `paymasterSignature`: in `paymasterData` bundlers would hash it, and the EntryPoint does not.
 */
function render(
  op: OwnOperation['op'],
  paymasterAndData: Hex,
  { entryPointVersion, readsTail }: ServedProfile,
): RenderedFields {
  const { data, signature } = splitAnswer(paymasterAndData, !readsTail);
  return { ...renderUserOperation(op, entryPointVersion, data), ...signature };
}

/** 0 for a missing limit: such an operation is only estimated, since every promise is for given limits. */
function final(op: OwnOperation['op']): FinalUserOperation {
  const { callGasLimit = 0n, verificationGasLimit = 0n, preVerificationGas = 0n } = op;
  return { ...op, callGasLimit, verificationGasLimit, preVerificationGas };
}

function readData(
  { layout, contract, contractKey, token, options }: ServedProfile,
  op: Parameters<typeof readSponsorship>[1],
  chainId: number,
  recover: ServedChain['recover'],
): readonly DataReading[] {
  const named = op.paymasterAndData.slice(0, 42);
  const found = [
    named === contractKey
      ? readSponsorship(layout.sponsorship, op, { chainId, contract, options, recover })
      : undefined,
    named === token?.contractKey
      ? readTokenPayment(token.codec, op, { chainId, contract: token.contract, options, recover })
      : undefined,
  ];
  return found.filter((one) => one !== undefined);
}

/** Whether a key of ours that is mounted here has signed the data for exactly this operation. */
export function isSignedHere({ readings, profile }: OwnOperation): boolean {
  return readings.some(({ signer }) => signer !== undefined && profile.isSigner(signer));
}

/** Digests of the live promises of this paymaster for the sender and nonce. Throws as `inTurn`. */
export async function promisedDigests(
  { usage, bundlers }: OwnOperationDeps,
  { op: { sender, nonce }, profile }: OwnOperation,
  paymaster: ServedPaymaster,
  method: string,
): Promise<readonly Hex[]> {
  const { chainId, paymasterId } = paymaster;
  const operations = [{ entryPoint: profile.entryPointKey, sender, nonce }];
  const query = { operations, expiredBefore: 0 as EpochSeconds, limit: 0 };
  const found = await bundlers.inTurn(paymaster, method, () => usage.reservations(chainId, query));
  return found
    .filter(({ key }) => key.paymasterId === paymasterId)
    .flatMap(({ promises }) => promises.map(({ digest }) => digest));
}

export function notOurs(
  reason: 'NO_PAYMASTER' | 'OTHER_PAYMASTER' | 'OTHER_OPERATION' | 'NOT_SIGNED_HERE',
  message: string,
): DomainError {
  return new DomainError('OPERATION_NOT_OURS', message, { reason });
}

export function notSignedHere(): DomainError {
  return notOurs(
    'NOT_SIGNED_HERE',
    'The data of the paymaster were not signed by this service for this operation.',
  );
}
