import { joinPaymasterSignature } from '../../../core/entry-point/paymaster-signature.js';
import { stubSignature } from '../../../core/paymaster/signature.js';
import { bytesToHex, type Hex } from '../../../core/units/hex.js';
import { asHex } from '../../chain/support/account.js';

// What a wallet reads from the answers of two phases, and puts together for the chain.

/** Where the paymaster's signature is: in a separate field, or at the end of `paymasterData`. */
export type Form = 'field' | 'joined';
export type Fields = Readonly<Record<string, unknown>>;

/** Stands for the paymaster's signature until the finalize. */
export const placeholder = bytesToHex(stubSignature());

/** Fields with which a wallet asks for this form. */
export function askedFor(form: Form, paymaster: string): Fields {
  return form === 'joined' ? { paymaster, paymasterData: '0x22e325a297439656' } : {};
}

/** Signature, its length, and the magic. */
const [signatureSize, tailSize] = [65, 75];

/** `paymasterData` without the tail. */
export function dataOf(fields: Fields | undefined, form: Form): string {
  const data = String(fields?.['paymasterData']);
  return form === 'field' ? data : data.slice(0, -2 * tailSize);
}

export function signatureOf(fields: Fields | undefined, form: Form): Hex {
  if (form === 'field') return asHex(String(fields?.['paymasterSignature']));
  const tail = String(fields?.['paymasterData']).slice(-2 * tailSize);
  return asHex(`0x${tail.slice(0, 2 * signatureSize)}`);
}

/** `paymasterAndData` as it is mined, with this signature in its tail. */
export function withSignature(fields: Fields, form: Form, signature: Hex): Hex {
  const word = (name: string): string => BigInt(String(fields[name])).toString(16).padStart(32, '0');
  const gas = `${word('paymasterVerificationGasLimit')}${word('paymasterPostOpGasLimit')}`;
  const head = asHex(`${String(fields['paymaster'])}${gas}${dataOf(fields, form).slice(2)}`);
  return joinPaymasterSignature(head, signature);
}
