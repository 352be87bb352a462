import type { Layout, PaymasterGas } from '../layout.js';
import { noPaymasterGas } from '../../userop/gas.js';
import { sponsorshipCodec } from './sponsorship.js';
import { tokenCodec, type TokenFigures } from './token.js';

// One deployed contract per EntryPoint; both modes at one address. 0.8 differs from 0.7 in the EntryPoint only: its
// getHash knows nothing of EIP-7702 beyond the bytes of initCode. A build that hashes otherwise fails the activation check.

/** Validation uses about 31,000 gas; in mode SPONSORED there is no postOp work. */
const gas07: PaymasterGas = { paymasterVerificationGasLimit: 40_000n, paymasterPostOpGasLimit: 0n };

/**
 * Validation uses about 31,000 gas, postOp about 40,000 with a plain token; one behind a proxy takes 15,000 more. `postOpGas`
 * also covers what the EntryPoint does after it: of 60,000, some 22,000 were left over at the least. The contract is
 * told that its validation costs nothing: that lowers the fine that it charges by a tenth of 31,000 at most, in the user's
 * favour, and postOpGas covers it.
 */
const token06: TokenFigures = {
  gas: noPaymasterGas,
  postOpGas: 60_000n,
  assumedGas: 1n,
  minVerificationGasLimit: 80_000n,
  validationGas: 60_000n,
};
const token07: TokenFigures = {
  gas: { paymasterVerificationGasLimit: 60_000n, paymasterPostOpGasLimit: 70_000n },
  postOpGas: 60_000n,
  assumedGas: 1n,
  minVerificationGasLimit: 0n,
  validationGas: 0n,
};

export const singleton06: Layout = {
  id: 'singleton-0.6',
  entryPointVersion: '0.6',
  title: 'Singleton paymaster for EntryPoint 0.6',
  sponsorship: sponsorshipCodec('0.6', noPaymasterGas),
  token: tokenCodec('0.6', token06),
};

export const singleton07: Layout = {
  id: 'singleton-0.7',
  entryPointVersion: '0.7',
  title: 'Singleton paymaster for EntryPoint 0.7',
  sponsorship: sponsorshipCodec('0.7', gas07),
  token: tokenCodec('0.7', token07),
};

export const singleton08: Layout = {
  id: 'singleton-0.8',
  entryPointVersion: '0.8',
  title: 'Singleton paymaster for EntryPoint 0.8',
  sponsorship: sponsorshipCodec('0.8', gas07),
  token: tokenCodec('0.8', token07),
};
