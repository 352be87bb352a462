import type { AskStep, Step } from './steps.js';
import { paymasters } from './world.js';

// For tests of fixed steps.

export const anAsk = (change: Partial<AskStep>): AskStep => ({
  paymaster: 0,
  isToken: false,
  inAdvance: false,
  sender: 1,
  key: 1,
  ahead: 0,
  gas: 900_000,
  feeGwei: 9,
  tipGwei: 12,
  expirySeconds: 300,
  replica: 0,
  isBehind: false,
  isChainBehind: false,
  hasFormerKey: false,
  call: 'nothing',
  isUnsigned: false,
  isLost: false,
  ...change,
});

export const ask = (...asks: readonly AskStep[]): Step => ({ do: 'ask', asks });
export const numberOf = (id: string): number => paymasters.findIndex(({ paymasterId }) => paymasterId === id);
