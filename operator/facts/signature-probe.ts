import { signOne } from '../../core/paymaster/signer.js';
import type { BlockTag } from '../../core/chain/chain.js';
import { eip7702Factory } from '../../core/entry-point/eip-7702.js';
import type { FinalUserOperation } from '../../core/entry-point/user-operation.js';
import { isDomainError } from '../../core/errors.js';
import { signatureToTail } from '../../core/paymaster/tail.js';
import { parseAddressKey } from '../../core/units/address.js';
import type { Hex } from '../../core/units/hex.js';
import {
  callValidation,
  probeOperation,
  probeTerms,
  saysWrongSignature,
  validationCall,
  type ContractProbe,
} from './probe-operation.js';
import type { ProfileFacts } from './facts.js';

type SignatureProbe = ContractProbe & { readonly block: BlockTag };

/**
 * Whether the contract accepts what we sign, for a contract that shows no hash of an operation: its validation is
 * called in the EntryPoint's name, for an ordinary operation, for one of an EIP-7702 account, and with the signature in
 * the tail if the profile says that the contract reads it there. `signer` must be authorised on the contract.
 *
 * The contract answers a wrong signature with a value. A revert says nothing: a contract may have other rules for
 * accounts and calls, which the probe's operation need not fulfil.
 */
export async function probeSignatures(probe: SignatureProbe): Promise<ProfileFacts['hash']> {
  const { layout, profile } = probe;
  try {
    const [ordinary, delegated, inTail] = await Promise.all([
      isRefused(probe, probeOperation),
      isRefused(probe, delegatedOperation),
      layout.readsTail(profile.options) ? isRefused(probe, probeOperation, signatureToTail) : false,
    ]);
    if (ordinary) return 'OtherHash';
    if (delegated) return 'OtherInitCodeHash';
    return inTail ? 'TailNotRead' : 'HashMatches';
  } catch (error) {
    if (isDomainError(error, 'UNAVAILABLE')) return 'Unknown';
    throw error;
  }
}

const delegate = parseAddressKey('0x9999999999999999999999999999999999999999');

/** The factory's data are in the hash of either kind. */
const delegatedOperation: FinalUserOperation = {
  ...probeOperation,
  initCode: `${eip7702Factory}deadbeef`,
  eip7702Auth: { address: delegate, chainId: 0n, nonce: 0n, r: '0x01', s: '0x01', yParity: 0 },
};

/** Whether the contract's validation says that the signature of this operation is wrong. Throws UNAVAILABLE. */
async function isRefused(
  { chain, chainId, profile, layout, signer, block }: SignatureProbe,
  op: FinalUserOperation,
  toForm: (paymasterAndData: Hex) => Hex = (data) => data,
): Promise<boolean> {
  const { sponsorship } = layout;
  // The window is over, so that nobody can use the signature. The contract leaves the window to the EntryPoint.
  const terms = { ...probeTerms(chainId, profile), validUntil: 1, validAfter: 0 };
  const signature = await signOne(signer, sponsorship.toSign(sponsorship.hash(op, terms), op, terms));
  const data = toForm(sponsorship.encode(op, terms, signature));
  // Only a contract that hashes the delegate looks at the account's code.
  const readsDelegate =
    op.eip7702Auth !== undefined && profile.options.openZeppelin?.initCodeHash === 'Delegate';
  const code = `0xef0100${delegate.slice(2)}` as const;
  const answer = await callValidation(chain, {
    from: profile.entryPoint,
    to: profile.sponsorship,
    data: validationCall(layout, op, data, 1n),
    block,
    ...(readsDelegate ? { overrides: { [op.sender]: { code } } } : {}),
  });
  return answer !== undefined && saysWrongSignature(answer);
}
