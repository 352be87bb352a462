import { parseAddress } from '../units/address.js';
import { typedDataHasher } from './hashers.js';
import { fineAboveThreshold, packed, requiredGasPacked, simulateHandleOpPacked } from './packed.js';
import { hashedPaymasterAndData } from './paymaster-signature.js';
import type { EntryPointRules } from './rules.js';

export const entryPoint09 = {
  version: '0.9',
  address: parseAddress('0x433709009B8330FDa32311DF1C2AFA402eD8D009'),
  codeHash: '0xde03a0448199b81bf070361d563a5d03bbc5816a0e849b6152e108dd80565333',
  form: packed,
  hasher: typedDataHasher(hashedPaymasterAndData),
  readsEip7702Marker: true,
  readsBlockWindows: true,
  startsAtValidAfter: false,
  requiredGas: requiredGasPacked,
  unusedGasFine: fineAboveThreshold,
  passesWholeOperation: true,
  simulation: {
    // Of the release candidate: no package has the simulations of the final release. Gas differs by less than the margins
    // of an estimate, and windows, which a simulation does not check, where an end is the bare flag of blocks.
    codeArtifact: 'EntryPointSimulations09',
    abi: [simulateHandleOpPacked],
    answersBy: 'return',
  },
} as const satisfies EntryPointRules;
