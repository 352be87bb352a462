import { parseAddress } from '../units/address.js';
import { typedDataHasher } from './hashers.js';
import { fineAboveThreshold, packed, requiredGasPacked, simulateHandleOpPacked } from './packed.js';
import type { EntryPointRules } from './rules.js';

export const entryPoint08 = {
  version: '0.8',
  address: parseAddress('0x4337084D9E255Ff0702461CF8895CE9E3b5Ff108'),
  codeHash: '0x52e8fa218675baeb4c173ed0e41ca5135d04e5f8d6333c996cf5ae5f1891b436',
  form: packed,
  hasher: typedDataHasher((paymasterAndData) => paymasterAndData),
  readsEip7702Marker: true,
  readsBlockWindows: false,
  startsAtValidAfter: false,
  requiredGas: requiredGasPacked,
  unusedGasFine: fineAboveThreshold,
  passesWholeOperation: true,
  simulation: {
    codeArtifact: 'EntryPointSimulations08',
    abi: [simulateHandleOpPacked],
    answersBy: 'return',
  },
} as const satisfies EntryPointRules;
