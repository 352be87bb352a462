import { entryPoint06 } from '../../entry-point/v06.js';
import { entryPoint07 } from '../../entry-point/v07.js';
import { entryPoint08 } from '../../entry-point/v08.js';
import type { EntryPointVersion } from '../../entry-point/version.js';
import { administeredBy, withdrawTo, type ContractRules } from '../contract.js';
import type { Layout, LayoutId } from '../layout.js';
import type { PaymasterGas } from '../../entry-point/user-operation.js';
import { noPaymasterGas } from '../../entry-point/gas.js';
import { sponsorshipCodec } from './sponsorship.js';
import { tokenCodec, type TokenFigures } from './token.js';

// One deployed contract per EntryPoint, with both modes at one address. 0.8 differs from 0.7 in the EntryPoint only:
// its getHash treats the EIP-7702 marker as plain bytes of initCode. A build that hashes differently fails the
// activation check.

/** Validation uses about 31,000 gas; in mode SPONSORED there is no postOp work. */
const sponsored07 = {
  gas: { paymasterVerificationGasLimit: 40_000n, paymasterPostOpGasLimit: 0n },
  least: { paymasterVerificationGasLimit: 26_000n, paymasterPostOpGasLimit: 0n },
};
const sponsored06 = { gas: noPaymasterGas, least: noPaymasterGas };

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

export const singleton06 = contractOn('singleton-0.6', entryPoint06.version, sponsored06, token06, '06');
export const singleton07 = contractOn('singleton-0.7', entryPoint07.version, sponsored07, token07, '07');
export const singleton08 = contractOn('singleton-0.8', entryPoint08.version, sponsored07, token08, '08');

function contractOn(
  id: LayoutId,
  version: EntryPointVersion,
  { gas, least }: { readonly gas: PaymasterGas; readonly least: PaymasterGas },
  figures: TokenFigures,
  build: string,
): Layout {
  return {
    id,
    entryPointVersion: version,
    title: `Singleton paymaster for EntryPoint ${version}`,
    sponsorship: sponsorshipCodec(version, gas, least),
    readsTail: () => false,
    token: tokenCodec(version, figures),
    contract: contractRules(`third-party/SingletonPaymaster${build}`),
  };
}

/** Several signers; roles instead of an owner. A manager may change signers and the stake, and takes nothing out. */
function contractRules(file: string): ContractRules {
  return {
    artifact: {
      file,
      isAudited: true,
      owner: 'argument',
      creation: ({ entryPoint, owner, signer }) => ({
        fragment: 'constructor(address entryPoint, address owner, address manager, address[] signers)',
        values: [entryPoint, owner, owner, [signer]],
      }),
    },
    ownerCall: administeredBy,
    authorise: (signer) => ({ fragment: 'function addSigner(address signer)', values: [signer] }),
    removeSigner: (signer) => ({ fragment: 'function removeSigner(address signer)', values: [signer] }),
    stake: { isNeeded: true },
    withdrawals: (to, amount) => [withdrawTo(to, amount)],
  };
}
