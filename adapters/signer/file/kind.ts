import type { SignerKind } from '../kind.js';
import { parseKey } from './key-file.js';
import { createLocalSigner } from './local-signer.js';

/** The key itself, in the clear. */
export const file: SignerKind = {
  title: 'the private key: `0x` and 64 hex digits, and nothing else',
  open: ({ text }, { curve, origin }) => createLocalSigner(curve, parseKey(text, origin), origin),
};
