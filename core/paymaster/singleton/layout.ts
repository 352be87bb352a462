import type { Layout, PaymasterGas } from '../layout.js';
import { noPaymasterGas } from '../../userop/gas.js';
import { sponsorshipCodec } from './sponsorship.js';
import { tokenCodec, type TokenFigures } from './token.js';

// One deployed contract per EntryPoint; both modes at one address. 0.8 differs from 0.7 in the EntryPoint only: its
// getHash knows nothing of EIP-7702 beyond the bytes of initCode. A build that hashes otherwise fails the activation check.

/** Validation uses about 31,000 gas; in mode SPONSORED there is no postOp work. */
const gas07: PaymasterGas = { paymasterVerificationGasLimit: 40_000n, paymasterPostOpGasLimit: 0n };

const token06: TokenFigures = {
  gas: noPaymasterGas,
  postOpGas: 60_000n,
  validationGas: 1n,
  minVerificationGasLimit: 80_000n,
  ownGas: 60_000n,
};
const token07: TokenFigures = {
  gas: { paymasterVerificationGasLimit: 60_000n, paymasterPostOpGasLimit: 70_000n },
  postOpGas: 60_000n,
  validationGas: 1n,
  minVerificationGasLimit: 0n,
  ownGas: 0n,
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
