import { expect, test } from '@jest/globals';
import { pass, refuse } from '../../../core/refusal.js';
import { parseUserOperation } from '../../../core/userop/parse.js';
import { beginPayments } from '../../../server/decision/token/early-payment.js';
import { withLimits } from '../../../server/decision/gas-limits.js';
import type { TokenDraft } from '../../../server/decision/token/token-draft.js';
import { anOperation } from '../../build/operations.js';
import { exampleTokenTerms } from '../../core/paymaster/operations.js';

const given = parseUserOperation(anOperation(), '0.6');
const draft: TokenDraft = { op: withLimits(given, given), terms: exampleTokenTerms, verdict: pass };
const broke = refuse('TOKEN_BALANCE', 'holds nothing');

test('payments that were simulated with the same limits and terms are not simulated again', async () => {
  const raised = { ...draft, op: { ...draft.op, callGasLimit: 1n } };
  const early = beginPayments([draft, raised].map(asPromise), async ({ op }) =>
    op.callGasLimit === 1n ? broke : pass,
  );
  expect(await early.verdictOn({ ...draft })).toEqual(pass);
  expect(await early.verdictOn({ ...raised })).toEqual(broke);
});

test.each<{ name: string; later: TokenDraft }>([
  { name: 'callGasLimit', later: { ...draft, op: { ...draft.op, callGasLimit: 1n } } },
  { name: 'verificationGasLimit', later: { ...draft, op: { ...draft.op, verificationGasLimit: 1n } } },
  { name: 'preVerificationGas', later: { ...draft, op: { ...draft.op, preVerificationGas: 1n } } },
  { name: 'time of payment', later: { ...draft, terms: { ...draft.terms, inAdvance: true } } },
])('with another $name they are', async ({ later }) => {
  const early = beginPayments([asPromise(draft)], async () => pass);
  expect(await early.verdictOn(later)).toBeUndefined();
});

test('a simulation that failed fails the payment that waits for it, and no other', async () => {
  const failing = { ...draft, op: { ...draft.op, callGasLimit: 1n } };
  const early = beginPayments([draft, failing].map(asPromise), async ({ op }) => {
    if (op.callGasLimit === 1n) throw new Error('no node answers');
    return pass;
  });
  expect(await early.verdictOn(draft)).toEqual(pass);
  await expect(early.verdictOn(failing)).rejects.toThrow('no node answers');
});

test('a draft that failed keeps no other from being simulated', async () => {
  const early = beginPayments(
    [Promise.reject(new Error('the rate overflows')), asPromise(draft)],
    async () => broke,
  );
  expect(await early.verdictOn(draft)).toEqual(broke);
});

test('an operation that is refused is not simulated, and one that is there twice only once', async () => {
  const refused: TokenDraft = { ...draft, verdict: refuse('GAS_LIMIT_TOO_HIGH', 'callGasLimit') };
  const simulated: TokenDraft[] = [];
  const simulate = async (each: TokenDraft) => {
    simulated.push(each);
    return pass;
  };
  expect(await beginPayments([asPromise(refused)], simulate).verdictOn(refused)).toBeUndefined();
  expect(await beginPayments([draft, { ...draft }].map(asPromise), simulate).verdictOn(draft)).toEqual(pass);
  expect(simulated).toEqual([draft]);
});

function asPromise<T>(value: T): Promise<T> {
  return Promise.resolve(value);
}
