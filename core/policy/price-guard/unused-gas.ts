import type { PaymasterGas } from '../../paymaster/layout.js';
import { unusedGasFine } from '../../userop/gas.js';
import type { EntryPointVersion, GasLimits, UserOperation } from '../../userop/user-operation.js';
import { formatDecimal } from '../../units/wei.js';
import { pass, refuse, type Verdict } from '../verdict.js';
import { capOf, platformCaps, type PriceGuard } from './compile.js';
import type { NetworkFees } from './decide.js';

/** An operation with limits by its caller, who may be the bundler that a fine for unused gas is paid to. */
export type UnusedGasQuestion = {
  readonly op: Pick<GasLimits, 'callGasLimit'> & Pick<UserOperation, 'maxFeePerGas'>;
  readonly version: EntryPointVersion;
  readonly paymasterGas: PaymasterGas;
};

/** The fine in wei that could be paid if the call used `neededGas` (none, unless it was simulated) and postOp none. */
export function unusedGasFee({ op, version, paymasterGas }: UnusedGasQuestion, neededGas = 0n): bigint {
  const unused = op.callGasLimit > neededGas ? op.callGasLimit - neededGas : 0n;
  return unusedGasFine(unused, paymasterGas.paymasterPostOpGasLimit, version) * op.maxFeePerGas;
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

/** Whether limits that a simulation was compared with are close enough to what the call needs. */
export function decideUnusedGas(
  question: UnusedGasQuestion,
  { neededGas, cap }: { readonly neededGas: bigint; readonly cap: bigint },
): Verdict {
  const fee = unusedGasFee(question, neededGas);
  if (fee <= cap) return pass;
  return refuse(
    'GAS_LIMIT_TOO_HIGH',
    `callGasLimit is ${question.op.callGasLimit} gas, the call needs ${neededGas}: the fine for what is unused could be ${formatDecimal(fee, 18)} coins, the cap is ${formatDecimal(cap, 18)}`,
  );
}
