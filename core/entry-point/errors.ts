import type { EntryPointErrors } from './rules.js';

/** Errors that refuse one operation of a bundle, with reasons such as "AA13 initCode failed or OOG". */
export const failedOpErrors: EntryPointErrors = {
  abi: [
    'error FailedOp(uint256 opIndex, string reason)',
    'error FailedOpWithRevert(uint256 opIndex, string reason, bytes inner)',
  ],
  outOfGas: 'AA95',
};
