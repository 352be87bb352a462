import { signOne } from '../../core/paymaster/signer.js';
import type { FinalUserOperation } from '../../core/entry-point/user-operation.js';
import { isDomainError } from '../../core/errors.js';
import type { TokenTerms } from '../../core/paymaster/layout.js';
import { toAddressKey, type Address } from '../../core/units/address.js';
import type { Hex } from '../../core/units/hex.js';
import {
  callValidation,
  probeOperation,
  probeTokenTerms,
  validationCall,
  type ContractProbe,
} from './probe-operation.js';

/** Whether a contract takes tokens in validation when its data demand it; `Unknown` when the chain does not answer. */
type TokenSecurity = 'Secured' | 'AfterCall' | 'Unknown';

type TokenProbe = ContractProbe & { readonly contract: Address };

/**
 * Simulates three payments by calling the contract's validation in the EntryPoint's name. For the call only, other code
 * replaces the token's. Validation must pass with a token whose transfers succeed only for at least the highest amount
 * that the EntryPoint can charge. It must fail with a token that refuses the transfer, and with one without an
 * allowance. Otherwise an account that moves its tokens away after the signature would be sponsored.
 *
 * The time window of the signed data is over: the contract leaves its check to the EntryPoint, which is not part of the
 * call.
 */
export async function probeTokenPayment(probe: TokenProbe): Promise<TokenSecurity> {
  try {
    const { codec, op, terms } = trialOf(probe);
    const least = (codec.need(op, terms.options).entryPoint * terms.exchangeRate) / weiPerCoin;
    const validate = await validationOf(probe, op, terms);
    const [willing, refusing, notAllowed] = await Promise.all([
      validate(tokenCode({ allowance: plenty, least })),
      validate(tokenCode({ allowance: plenty, least: plenty })),
      validate(tokenCode({ allowance: 0n, least: plenty })),
    ]);
    return willing && !refusing && !notAllowed ? 'Secured' : 'AfterCall';
  } catch (error) {
    if (isDomainError(error, 'UNAVAILABLE')) return 'Unknown';
    throw error;
  }
}

const weiPerCoin = 10n ** 18n;
/** More than any operation costs, and small enough for the calculations of contracts. */
const plenty = (1n << 128n) - 1n;

/** Cheap enough for any deposit, with a rate at which it costs many base units. */
function trialOf({ chainId, profile, contract, layout }: TokenProbe) {
  const codec = layout.token;
  if (codec === undefined) throw new RangeError(`layout ${layout.id} has no token mode`);
  const op: FinalUserOperation = {
    ...probeOperation,
    verificationGasLimit: 200_000n,
    maxFeePerGas: 1_000n,
    maxPriorityFeePerGas: 1_000n,
  };
  const terms: TokenTerms = {
    ...probeTokenTerms(chainId, profile, contract),
    exchangeRate: 10n ** 21n,
    priceMarkup: 1_000_000,
    validUntil: 1,
    validAfter: 0,
    inAdvance: true,
  };
  return { codec, op, terms };
}

/**
 * Returns whether the contract's validation passes with the given token code. Throws UNAVAILABLE, also without a signature.
 */
async function validationOf(
  { chain, profile, contract, layout, signer }: TokenProbe,
  op: FinalUserOperation,
  terms: TokenTerms,
): Promise<(token: Hex) => Promise<boolean>> {
  const codec = layout.token;
  if (codec === undefined) throw new RangeError(`layout ${layout.id} has no token mode`);
  const signature = await signOne(signer, codec.toSign(codec.hash(op, terms), op, terms));
  const maxCost = codec.need(op, terms.options).entryPoint;
  const data = validationCall(layout, op, codec.encode(op, terms, signature), maxCost);
  return async (code) => {
    const overrides = { [toAddressKey(terms.token)]: { code } };
    const answer = await callValidation(chain, { from: profile.entryPoint, to: contract, data, overrides });
    return answer !== undefined;
  };
}

/**
 * Runtime code of a token: `transferFrom` returns true for `least` base units or more and reverts below, `allowance`
 * returns the given value, and any other call returns plenty.
 */
function tokenCode({ allowance, least }: { readonly allowance: bigint; readonly least: bigint }): Hex {
  const word = (value: bigint): string => `6f${value.toString(16).padStart(32, '0')}`;
  const answer = (value: bigint): string => `${word(value)}60005260206000f3`;
  const head = '60003560e01c';
  const dispatch = (selector: string, target: number): string =>
    `8063${selector}1461${target.toString(16).padStart(4, '0')}57`;
  const otherwise = answer(plenty);
  const allowanceAt = (head.length + 2 * dispatch('00000000', 0).length + otherwise.length) / 2;
  const ofAllowance = `5b${answer(allowance)}`;
  const transferAt = allowanceAt + ofAllowance.length / 2;
  // amount >= least: LT pushes 1 when the amount, the third argument, is less.
  const compare = `5b${word(least)}60443510`;
  const passed = answer(1n);
  const refuseAt = transferAt + (compare.length + 'xxxxxxxx'.length + passed.length) / 2;
  const jump = `61${refuseAt.toString(16).padStart(4, '0')}57`;
  const refuse = '5b60006000fd';
  const code = [
    head,
    dispatch('dd62ed3e', allowanceAt),
    dispatch('23b872dd', transferAt),
    otherwise,
    ofAllowance,
    compare,
    jump,
    passed,
    refuse,
  ];
  return `0x${code.join('')}`;
}
