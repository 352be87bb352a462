import type { PaymasterGas, GasLimits, UserOperation } from '../../../entry-point/user-operation.js';
import { unusedGasFine } from '../../../entry-point/gas.js';
import type { EntryPointVersion } from '../../../entry-point/version.js';
import { formatDecimal } from '../../../units/wei.js';
import { pass, refuse, type Verdict } from '../../../refusal.js';
import { chooseCap, platformCaps, type PriceGuard } from './compile.js';
import type { NetworkFees } from './decide.js';

/** An operation with limits that the caller chose. The caller may be the bundler that gets the fine for unused gas. */
export type UnusedGasQuestion = {
  readonly op: Pick<GasLimits, 'callGasLimit'> & Pick<UserOperation, 'maxFeePerGas'>;
  readonly version: EntryPointVersion;
  readonly paymasterGas: PaymasterGas;
};

/** The fine in wei if neither call nor postOp used any gas. */
export function unusedGasFee({ op, version, paymasterGas }: UnusedGasQuestion): bigint {
  return unusedGasFine(op.callGasLimit, paymasterGas.paymasterPostOpGasLimit, version) * op.maxFeePerGas;
}

/**
 * The highest fine in wei that we risk. The default follows the base fee, because the price of an honest margin does
 * so too.
 */
export function unusedGasFeeCap(
  { maxUnusedGasFee }: Pick<PriceGuard, 'maxUnusedGasFee'>,
  network: NetworkFees | undefined,
): bigint {
  const floating = defaultUnusedGas * (network?.baseFeePerGas ?? 0n);
  const least = platformCaps.maxUnusedGasFee;
  return chooseCap(maxUnusedGasFee, floating > least ? floating : least);
}

/**
 * A tenth of 500,000 gas at three times the base fee: ordinary operations with their clients' margins stay below it.
 */
const defaultUnusedGas = 150_000n;

/**
 * Whether a callGasLimit is close enough to the gas that the call needed in a simulation. Of postOp only what the caller asks for above
 * our own limit counts: no limit that it gives could make ours smaller.
 */
export function decideUnusedGas(
  { op, version }: Pick<UnusedGasQuestion, 'op' | 'version'>,
  {
    neededGas,
    extraPostOp,
    cap,
  }: { readonly neededGas: bigint; readonly extraPostOp: bigint; readonly cap: bigint },
): Verdict {
  const unused = op.callGasLimit > neededGas ? op.callGasLimit - neededGas : 0n;
  const fee = unusedGasFine(unused, extraPostOp, version) * op.maxFeePerGas;
  if (fee <= cap) return pass;
  return refuse(
    'GAS_LIMIT_TOO_HIGH',
    `callGasLimit is ${op.callGasLimit} gas, the call needs ${neededGas}: the fine for unused gas could be ${formatDecimal(fee, 18)} coins, the cap is ${formatDecimal(cap, 18)}`,
  );
}
