import type { AccountCall, BundledOperation, ContractSpec } from './chain/operations.js';
import { prefundOf } from './chain/operations.js';
import { rate, type Asked, type Signed } from './service.js';
import { ceilGwei } from './grant.js';

/** The operation with the paymaster data that were signed for it, as a bundler has it. */
export function signedOperation(
  { asked, spec, call }: { readonly asked: Asked; readonly spec: ContractSpec; readonly call: AccountCall },
  { paymasterAndData, validUntil, signedBy }: Signed,
): BundledOperation {
  const { mode, op, inAdvance } = asked;
  const bare: BundledOperation = {
    contract: spec.address,
    op,
    paymasterAndData,
    terms: {
      mode,
      validUntil,
      markup: 1_000_000n,
      rate,
      ...(mode === 'SPONSORED' && spec.kind === 'hybrid' ? { fundingAddress: asked.wallet } : {}),
      ...(inAdvance && mode === 'ERC20' ? { inAdvance: true as const } : {}),
    },
    isSigned: true,
    signedBy,
    call,
  };
  if (bare.terms.inAdvance !== true || spec.kind === 'hybrid') return bare;
  // The EntryPoint's prefund in tokens; it does not include a hybrid contract's demand.
  const { inAdvance: _, ...terms } = bare.terms;
  const preFund = (prefundOf(bare, spec.version) * rate) / 10n ** 18n;
  return { ...bare, terms: { ...terms, preFund } };
}

/** Whether the contract takes tokens in validation when its data say so. */
export function takesInAdvance({ kind, version }: ContractSpec): boolean {
  return kind === 'hybrid' || version === '0.8';
}

/** Gwei that are lost if a token payment is mined and nothing more is paid after its call. `most`: what it may take of its payer. */
export function unsecuredOf({ op, terms }: BundledOperation, most: bigint): number {
  if (terms.inAdvance === true) return 0;
  if (terms.preFund === undefined) return ceilGwei(most);
  // Charged on top of the prefund, by figures in the data: the contract's gas after the call, and one base unit.
  const baseUnit = (10n ** 18n + terms.rate - 1n) / terms.rate;
  return ceilGwei(65_000n * op.maxFeePerGas + baseUnit);
}
