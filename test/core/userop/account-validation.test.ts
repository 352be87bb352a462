import { expect, test } from '@jest/globals';
import { decideValidation } from '../../../core/userop/account-validation.js';

const block = { number: 100, timestamp: 1_000 };

test.each<{ name: string; authorizer?: bigint; validUntil?: bigint; validAfter?: bigint; refused?: RegExp }>([
  { name: 'a valid signature without an end passes' },
  { name: 'a valid signature within its window passes', validUntil: 1_001n, validAfter: 999n },
  { name: 'a failed signature is refused', authorizer: 1n, refused: /does not accept the signature/ },
  { name: 'an aggregator is refused', authorizer: 0xabn, refused: /aggregator 0x0{38}ab/i },
  { name: 'a signature whose end is over is refused', validUntil: 999n, refused: /to 999 \(seconds\)/ },
  { name: 'a signature that has not begun is refused', validAfter: 1_001n, refused: /from 1001/ },
  { name: 'a window of blocks is read as blocks', validUntil: flagged(100n), validAfter: flagged(99n) },
  {
    name: 'a window of blocks that is over is refused',
    validUntil: flagged(99n),
    validAfter: flagged(1n),
    refused: /to 99 \(blocks\)/,
  },
])('$name', ({ authorizer = 0n, validUntil = 0n, validAfter = 0n, refused }) => {
  const verdict = decideValidation(authorizer | (validUntil << 160n) | (validAfter << 208n), block, '0.9');
  if (refused === undefined) expect(verdict).toEqual({ pass: true });
  else
    expect(verdict).toMatchObject({
      pass: false,
      reason: 'ACCOUNT_VALIDATION_FAILED',
      detail: expect.stringMatching(refused),
    });
});

function flagged(number: bigint): bigint {
  return number | (1n << 47n);
}
