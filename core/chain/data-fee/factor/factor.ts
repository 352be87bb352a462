import { parseDecimal, divideUp } from '../../../units/wei.js';
import type { DataFeeKind } from '../kind.js';

const decimals = 6;
const one = 10n ** BigInt(decimals);

/** A fixed multiple of our own figure, for chains without an oracle: measured by the platform, never below 1. */
export const factor: DataFeeKind = {
  isFollowed: false,
  gas: ({ ownGas }, spec) => {
    const times = parseDecimal(spec.factor ?? '1', decimals);
    return times > one ? divideUp(ownGas * (times - one), one) : 0n;
  },
};
