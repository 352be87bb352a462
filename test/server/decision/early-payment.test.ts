import { expect, test } from '@jest/globals';
import { pass, refuse } from '../../../core/refusal.js';
import { parseUserOperation } from '../../../core/userop/parse.js';
import { beginPayment } from '../../../server/decision/early-payment.js';
import { withLimits } from '../../../server/decision/gas-limits.js';
import type { TokenDraft } from '../../../server/decision/token-draft.js';
import { anOperation } from '../../build/operations.js';
import { exampleTokenTerms } from '../../core/paymaster/operations.js';

const given = parseUserOperation(anOperation(), '0.6');
const draft: TokenDraft = { op: withLimits(given, given), terms: exampleTokenTerms, verdict: pass };
const broke = refuse('TOKEN_BALANCE', 'holds nothing');

test('a payment that was simulated with the same limits and terms is not simulated again', async () => {
  const early = beginPayment(
    async () => draft,
    async () => broke,
  );
  expect(await early.verdictOn({ ...draft })).toEqual(broke);
});

test.each<{ name: string; later: TokenDraft }>([
  { name: 'callGasLimit', later: { ...draft, op: { ...draft.op, callGasLimit: 1n } } },
  { name: 'verificationGasLimit', later: { ...draft, op: { ...draft.op, verificationGasLimit: 1n } } },
  { name: 'preVerificationGas', later: { ...draft, op: { ...draft.op, preVerificationGas: 1n } } },
  { name: 'time of payment', later: { ...draft, terms: { ...draft.terms, inAdvance: true } } },
])('with another $name it is', async ({ later }) => {
  const early = beginPayment(
    async () => draft,
    async () => pass,
  );
  expect(await early.verdictOn(later)).toBeUndefined();
});

test('a simulation, or a draft, that failed decides nothing', async () => {
  const failing = () => Promise.reject(new Error('no node answers'));
  expect(await beginPayment(async () => draft, failing).verdictOn(draft)).toBeUndefined();
  expect(await beginPayment(failing, async () => pass).verdictOn(draft)).toBeUndefined();
});

test('an operation that is refused is not simulated', async () => {
  const refused: TokenDraft = { ...draft, verdict: refuse('GAS_LIMIT_TOO_HIGH', 'callGasLimit') };
  const early = beginPayment(
    async () => refused,
    () => {
      throw new Error('simulated');
    },
  );
  expect(await early.verdictOn(refused)).toBeUndefined();
});
