import { parseAddress } from '../units/address.js';
import { plainHasher } from './hashers.js';
import { operationWordsPacked, packed, requiredGasPacked, simulateHandleOpPacked } from './packed.js';
import type { EntryPointRules } from './rules.js';

export const entryPoint07 = {
  version: '0.7',
  address: parseAddress('0x0000000071727De22E5E9d8BAf0edAc6f37da032'),
  codeHash: '0x8db5ff695839d655407cc8490bb7a5d82337a86a6b39c3f0258aa6c3b582fc58',
  form: packed,
  hasher: plainHasher(operationWordsPacked),
  readsEip7702Marker: false,
  readsBlockWindows: false,
  startsAtValidAfter: true,
  requiredGas: requiredGasPacked,
  // A tenth of the sum.
  unusedGasFine: (unusedCall, unusedPostOp) => (unusedCall + unusedPostOp) / 10n,
  passesWholeOperation: true,
  simulation: {
    codeArtifact: 'EntryPointSimulations07',
    abi: [simulateHandleOpPacked],
    answersBy: 'return',
  },
} as const satisfies EntryPointRules;
