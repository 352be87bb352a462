import { expect, test } from '@jest/globals';
import { hashMessage, keccak256 as keccakOfEthers } from 'ethers';
import { keccak256 } from '../../../core/crypto/keccak.js';
import { bytesToHex } from '../../../core/units/hex.js';
import { personalDigest } from '../../build/signing.js';

const inputs = [0, 1, 32, 135, 136, 137, 1_000].map((length) => new Uint8Array(length).fill(length));
const hashes = () => inputs.map((input) => bytesToHex(keccak256(input)));
const digest = () => bytesToHex(personalDigest(new Uint8Array(32).fill(7)));

// As constants that are hashed while modules load, before the engine is compiled.
const early = { hashes: hashes(), digest: digest() };

test.each([
  { when: 'while modules load', of: () => early },
  { when: 'later', of: () => ({ hashes: hashes(), digest: digest() }) },
])('hashes and digests $when are those of ethers', ({ of }) => {
  expect(of()).toEqual({
    hashes: inputs.map((input) => keccakOfEthers(input)),
    digest: hashMessage(new Uint8Array(32).fill(7)),
  });
});
