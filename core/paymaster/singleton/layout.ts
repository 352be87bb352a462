import { entryPoint06 } from '../../entry-point/v06.js';
import { entryPoint07 } from '../../entry-point/v07.js';
import { entryPoint08 } from '../../entry-point/v08.js';
import type { Layout } from '../layout.js';
import type { PaymasterGas } from '../../entry-point/user-operation.js';
import { noPaymasterGas } from '../../entry-point/gas.js';
import { sponsorshipCodec } from './sponsorship.js';
import { tokenCodec, type TokenFigures } from './token.js';

// One deployed contract per EntryPoint, with both modes at one address. 0.8 differs from 0.7 in the EntryPoint only:
// its getHash treats the EIP-7702 marker as plain bytes of initCode. A build that hashes differently fails the
// activation check.

/** Validation uses about 31,000 gas; in mode SPONSORED there is no postOp work. */
const gas07: PaymasterGas = { paymasterVerificationGasLimit: 40_000n, paymasterPostOpGasLimit: 0n };

/**
 * Validation uses about 31,000 gas. postOp uses about 40,000 with a plain token, and 60,000 with one behind a proxy that
 * the treasury has never held. `postOpGas` also covers what the EntryPoint does after postOp: of 65,000, at least 3,000
 * are left over then, and about 27,000 with a plain token.
 * We tell the contract that its validation costs nothing. That lowers the fine that it charges by at most a tenth of
 * 31,000, in the user's favour, and postOpGas covers the difference.
 */
const token06: TokenFigures = {
  gas: noPaymasterGas,
  postOpGas: 65_000n,
  assumedGas: 1n,
  roundingFee: 1n,
  chargesFine: false,
  minVerificationGasLimit: 80_000n,
  validationGas: 60_000n,
};
const token07: TokenFigures = {
  gas: { paymasterVerificationGasLimit: 60_000n, paymasterPostOpGasLimit: 70_000n },
  postOpGas: 65_000n,
  assumedGas: 1n,
  roundingFee: 1n,
  chargesFine: true,
  minVerificationGasLimit: 0n,
  validationGas: 0n,
};
const token08: TokenFigures = { ...token07, chargesFine: false };

export const singleton06: Layout = {
  id: 'singleton-0.6',
  entryPointVersion: entryPoint06.version,
  title: 'Singleton paymaster for EntryPoint 0.6',
  sponsorship: sponsorshipCodec(entryPoint06.version, noPaymasterGas),
  readsTail: () => false,
  token: tokenCodec(entryPoint06.version, token06),
};

export const singleton07: Layout = {
  id: 'singleton-0.7',
  entryPointVersion: entryPoint07.version,
  title: 'Singleton paymaster for EntryPoint 0.7',
  sponsorship: sponsorshipCodec(entryPoint07.version, gas07),
  readsTail: () => false,
  token: tokenCodec(entryPoint07.version, token07),
};

export const singleton08: Layout = {
  id: 'singleton-0.8',
  entryPointVersion: entryPoint08.version,
  title: 'Singleton paymaster for EntryPoint 0.8',
  sponsorship: sponsorshipCodec(entryPoint08.version, gas07),
  readsTail: () => false,
  token: tokenCodec(entryPoint08.version, token08),
};
