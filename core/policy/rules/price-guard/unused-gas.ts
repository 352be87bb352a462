import type { PaymasterGas } from '../../../entry-point/user-operation.js';
import { unusedGasFine } from '../../../entry-point/gas.js';
import type { EntryPointVersion } from '../../../entry-point/version.js';
import type { GasLimits, UserOperation } from '../../../entry-point/user-operation.js';
import { formatDecimal } from '../../../units/wei.js';
import { pass, refuse, type Verdict } from '../../../refusal.js';
import { capOf, platformCaps, type PriceGuard } from './compile.js';
import type { NetworkFees } from './decide.js';

/** An operation with limits by its caller, who may be the bundler that a fine for unused gas is paid to. */
export type UnusedGasQuestion = {
  readonly op: Pick<GasLimits, 'callGasLimit'> & Pick<UserOperation, 'maxFeePerGas'>;
  readonly version: EntryPointVersion;
  readonly paymasterGas: PaymasterGas;
};

/** The fine in wei that could be paid if neither call nor postOp used anything. */
export function unusedGasFee({ op, version, paymasterGas }: UnusedGasQuestion): bigint {
  return unusedGasFine(op.callGasLimit, paymasterGas.paymasterPostOpGasLimit, version) * op.maxFeePerGas;
}

/** The highest fine in wei that is risked. The default follows the base fee, as the price of an honest margin does. */
export function unusedGasFeeCap(
  { maxUnusedGasFee }: Pick<PriceGuard, 'maxUnusedGasFee'>,
  network: NetworkFees | undefined,
): bigint {
  const floating = defaultUnusedGas * (network?.baseFeePerGas ?? 0n);
  const least = platformCaps.maxUnusedGasFee;
  return capOf(maxUnusedGasFee, floating > least ? floating : least);
}

/** A tenth of 500,000 gas at three times the base fee: ordinary operations with the margins of their clients stay below. */
const defaultUnusedGas = 150_000n;

/**
 * Whether a callGasLimit is close enough to what a simulation found the call to need. The paymaster's own limits are left
 * out: they are ours, and no limit that the caller could give would make less of them.
 */
export function decideUnusedGas(
  { op, version }: Pick<UnusedGasQuestion, 'op' | 'version'>,
  { neededGas, cap }: { readonly neededGas: bigint; readonly cap: bigint },
): Verdict {
  const unused = op.callGasLimit > neededGas ? op.callGasLimit - neededGas : 0n;
  const fee = unusedGasFine(unused, 0n, version) * op.maxFeePerGas;
  if (fee <= cap) return pass;
  return refuse(
    'GAS_LIMIT_TOO_HIGH',
    `callGasLimit is ${op.callGasLimit} gas, the call needs ${neededGas}: the fine for what is unused could be ${formatDecimal(fee, 18)} coins, the cap is ${formatDecimal(cap, 18)}`,
  );
}
