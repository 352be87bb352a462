/**
 * ABI of the errors with which every EntryPoint refuses one operation of a bundle, with reasons such as "AA13 initCode
 * failed or OOG".
 */
export const failedOpErrors: readonly string[] = [
  'error FailedOp(uint256 opIndex, string reason)',
  'error FailedOpWithRevert(uint256 opIndex, string reason, bytes inner)',
];

/** The beginning of the reason when the call had too little gas for the limits of the operation. */
export const outOfGas = 'AA95';
