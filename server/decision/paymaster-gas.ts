import { invalidInput, type Problem } from '../../core/errors.js';
import type { PaymasterGas } from '../../core/entry-point/user-operation.js';
import type { ServedProfile, ServedTokenMode } from '../view/served-chain.js';
import type { SponsorRequest } from './request.js';

/** A larger limit than our own by this much is signed: a client's estimate has a margin. Its fine and its cost are counted. */
const room = 100_000n;

const names = ['paymasterVerificationGasLimit', 'paymasterPostOpGasLimit'] as const;

/**
 * The paymaster's gas limits to sign in mode SPONSORED: those that the operation has, from the least with which the contract works on,
 * else our own. Throws INVALID_INPUT for others where the caller keeps its own: it would send an operation whose hash we have not signed.
 */
export function choosePaymasterGas(
  { layout, options, paymasterGas: own }: Pick<ServedProfile, 'layout' | 'options' | 'paymasterGas'>,
  { op: { paymasterGas: given }, keepsPaymasterGas }: Pick<SponsorRequest, 'op' | 'keepsPaymasterGas'>,
): PaymasterGas {
  if (given === undefined) return own;
  const least = layout.sponsorship.minGas(options);
  const signed = { ...own };
  const problems: Problem[] = [];
  for (const name of names) {
    const value = given[name];
    if (value === undefined) continue;
    const most = own[name] + room;
    if (value >= least[name] && value <= most) signed[name] = value;
    else problems.push(problem(name, `from ${least[name]} to ${most}, such as ${own[name]}`, value));
  }
  if (problems.length > 0 && keepsPaymasterGas === true) throw invalidInput(problems);
  return signed;
}

/** In mode ERC20 our own are signed, since the payment is bounded by them. Throws INVALID_INPUT where the caller keeps others. */
export function requireTokenGas(
  { gas: own }: Pick<ServedTokenMode, 'gas'>,
  { op: { paymasterGas: given }, keepsPaymasterGas }: Pick<SponsorRequest, 'op' | 'keepsPaymasterGas'>,
): void {
  if (given === undefined || keepsPaymasterGas !== true) return;
  const problems = names.flatMap((name): Problem[] => {
    const value = given[name];
    return value === undefined || value === own[name]
      ? []
      : [problem(name, `${own[name]}, as the stub has it`, value)];
  });
  if (problems.length > 0) throw invalidInput(problems);
}

function problem(name: string, expected: string, value: bigint): Problem {
  return { field: `params[0].${name}`, expected, value: String(value) };
}
