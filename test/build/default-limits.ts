import { compilePriceGuard } from '../../core/policy/rules/price-guard/compile.js';
import { maxGasLimits } from '../../core/policy/rules/price-guard/decide.js';

/** The highest limits that are signed for an account that exists, where neither Chain nor Paymaster set any. */
export const defaultLimits = maxGasLimits(compilePriceGuard({}, {}), { initCode: '0x' });
