import { envelope } from './envelope/kind.js';
import { file } from './file/kind.js';
import type { SignerKind } from './kind.js';
import { kms } from './kms/kind.js';
import { web3signer } from './web3signer/kind.js';

/** Kinds of signers, by the `kind` of their file. */
export const signerKinds = {
  file,
  envelope,
  kms,
  web3signer,
} as const satisfies Record<string, SignerKind>;

export type SignerKindName = keyof typeof signerKinds;
