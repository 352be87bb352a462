import { parseAddress } from '../units/address.js';
import { plainHasher } from './hashers.js';
import type { EntryPointRules } from './rules.js';
import { operationWordsUnpacked, unpacked } from './unpacked.js';

export const entryPoint06 = {
  version: '0.6',
  address: parseAddress('0x5FF137D4b0FDCD49DcA30c7CF57E578a026d2789'),
  codeHash: '0xc93c806e738300b5357ecdc2e971d6438d34d8e4e17b99b758b1f9cac91c8e70',
  form: unpacked,
  hasher: plainHasher(operationWordsUnpacked),
  readsEip7702Marker: false,
  readsBlockWindows: false,
  startsAtValidAfter: true,
  // verificationGasLimit counts three times: it bounds the account's validation, the paymaster's validation and
  // postOp.
  requiredGas: (op) => op.callGasLimit + 3n * op.verificationGasLimit + op.preVerificationGas,
  unusedGasFine: undefined,
  passesWholeOperation: false,
  simulation: {
    codeArtifact: undefined,
    abi: [
      `function simulateHandleOp(${unpacked.abiType} op, address target, bytes targetCallData)`,
      'error ExecutionResult(uint256 preOpGas, uint256 paid, uint48 validAfter, uint48 validUntil, bool targetSuccess, bytes targetResult)',
    ],
    answersBy: 'revert',
  },
} as const satisfies EntryPointRules;
