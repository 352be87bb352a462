import { describe, expect, test } from '@jest/globals';
import {
  decidePayment,
  limitsWithPayment,
  toTrial,
  withApproval,
  type ObservedPayment,
} from '../../../core/paymaster/token-payment.js';
import { layouts } from '../../../core/paymaster/layouts.js';
import { stubSignature } from '../../../core/paymaster/signature.js';
import { preVerificationGas } from '../../../core/userop/pre-verification-gas.js';
import { anExampleOperation, exampleTokenTerms } from './operations.js';

const op = { ...anExampleOperation, maxFeePerGas: 10n };
/** One base unit per wei, so that the figures below are tokens and wei alike. */
const terms = { ...exampleTokenTerms, exchangeRate: 10n ** 18n };
const codec = { maxTokenCharge: () => 1_000n, unpricedGas: 0n };

function anObservation(overrides: Partial<ObservedPayment> = {}): ObservedPayment {
  return {
    balance: 1_000n,
    allowance: 1_000n,
    payment: { outcome: 'executed', received: 700n, costWei: 600n },
    ...overrides,
  };
}

describe('deciding on a simulated payment', () => {
  type Case = {
    name: string;
    observed?: Partial<ObservedPayment>;
    unpricedGas?: bigint;
    reason?: string;
    detail?: string;
  };
  test.each<Case>([
    { name: 'the worst case held and allowed, the cost paid' },
    {
      name: 'one base unit too few',
      observed: { balance: 999n },
      reason: 'TOKEN_BALANCE',
      detail:
        'holds 999 base units of token 0x9a676e781a523b5d0c0e43731313a708cb607508, it may be charged 1000 base units: 1 base units missing',
    },
    {
      name: 'one base unit too few allowed',
      observed: { allowance: 999n },
      reason: 'TOKEN_ALLOWANCE',
      detail: 'allows 0x3284b8394Ac082e4212af752B3FDA80777076c05 999 base units of token 0x9a67',
    },
    {
      name: 'too few of both: the balance is said first',
      observed: { balance: 0n, allowance: 0n },
      reason: 'TOKEN_BALANCE',
    },
    {
      name: 'the account’s lack is said rather than the revert that follows from it',
      observed: { balance: 0n, payment: { outcome: 'refused', reason: 'AA33 reverted' } },
      reason: 'TOKEN_BALANCE',
    },
    {
      name: 'a refusal by the EntryPoint is passed on',
      observed: { payment: { outcome: 'refused', reason: 'AA33 reverted: custom error 0x12345678' } },
      reason: 'TOKEN_PAYMENT_FAILS',
      detail: 'AA33 reverted: custom error 0x12345678',
    },
    {
      name: 'nothing arrived',
      observed: { payment: { outcome: 'executed', received: 0n, costWei: 600n } },
      reason: 'TOKEN_PAYMENT_FAILS',
      detail: 'a simulated cost of 600 wei brought 0 base units',
    },
    {
      name: 'nothing arrived for a cost that is next to nothing',
      observed: { payment: { outcome: 'executed', received: 0n, costWei: 0n } },
      reason: 'TOKEN_PAYMENT_FAILS',
    },
    {
      name: 'less than nothing arrived',
      observed: { payment: { outcome: 'executed', received: -5n, costWei: 0n } },
      reason: 'TOKEN_PAYMENT_FAILS',
    },
    {
      name: 'a base unit below the cost is a contract that rounds down',
      observed: { payment: { outcome: 'executed', received: 599n, costWei: 600n } },
    },
    {
      name: 'two below are not',
      observed: { payment: { outcome: 'executed', received: 598n, costWei: 600n } },
      reason: 'TOKEN_PAYMENT_FAILS',
    },
    {
      name: 'overhead that is priced by the bundler may be missing',
      observed: { payment: { outcome: 'executed', received: 549n, costWei: 600n } },
      unpricedGas: 5n,
    },
    {
      name: 'at most that overhead may be missing',
      observed: { payment: { outcome: 'executed', received: 548n, costWei: 600n } },
      unpricedGas: 5n,
      reason: 'TOKEN_PAYMENT_FAILS',
    },
  ])('$name: $reason', ({ observed, unpricedGas = 0n, reason, detail = '' }) => {
    const verdict = decidePayment(anObservation(observed), { codec: { ...codec, unpricedGas }, op, terms });
    expect(verdict).toEqual(
      reason === undefined
        ? { pass: true }
        : { pass: false, reason, detail: expect.stringContaining(detail) },
    );
  });

  test('amounts are in the token, by its name, where it is known', () => {
    const token = { symbol: 'USDX', decimals: 2 };
    expect(decidePayment(anObservation({ balance: 1n }), { codec, op, terms, token })).toMatchObject({
      reason: 'TOKEN_BALANCE',
      detail:
        'after its call the account holds 0.01 USDX of token 0x9a676e781a523b5d0c0e43731313a708cb607508, it may be charged 10 USDX: 9.99 USDX missing',
    });
    expect(decidePayment(anObservation({ allowance: 0n }), { codec, op, terms, token })).toMatchObject({
      reason: 'TOKEN_ALLOWANCE',
      detail: expect.stringMatching(/allows 0x3284\w+ 0 USDX of token .*: 10 USDX missing$/),
    });
  });

  test('a refusal by the EntryPoint keeps what the caller can do about it', () => {
    const payment = { outcome: 'refused', reason: 'AA33 reverted', remedy: 'Hold tokens.' } as const;
    expect(decidePayment(anObservation({ payment }), { codec, op, terms })).toMatchObject({
      reason: 'TOKEN_PAYMENT_FAILS',
      remedy: 'Hold tokens.',
    });
  });
});

test('a trial pays the most per gas, in a window that closed in 1970, and is otherwise the operation', () => {
  const trial = toTrial(anExampleOperation, terms);
  expect(trial.op).toEqual({ ...anExampleOperation, maxPriorityFeePerGas: anExampleOperation.maxFeePerGas });
  expect(trial.terms).toEqual({ ...terms, validUntil: 1, validAfter: 0 });
});

test('an approval in front raises every limit and nothing else', () => {
  const raised = withApproval(anExampleOperation);
  expect(raised.callGasLimit).toBeGreaterThan(anExampleOperation.callGasLimit);
  expect(raised.verificationGasLimit).toBeGreaterThan(anExampleOperation.verificationGasLimit);
  expect(raised.preVerificationGas).toBeGreaterThan(anExampleOperation.preVerificationGas);
  const { callGasLimit, verificationGasLimit, preVerificationGas: before } = anExampleOperation;
  expect({ ...raised, callGasLimit, verificationGasLimit, preVerificationGas: before }).toEqual(
    anExampleOperation,
  );
});

describe('limits in mode ERC20 from an estimate without a paymaster', () => {
  const estimated = { callGasLimit: 50_000n, verificationGasLimit: 100_000n, preVerificationGas: 48_000n };

  test.each([
    { id: 'vendor-1.1.0', verification: 200_000n },
    { id: 'vendor-2.x', verification: 100_000n },
    { id: 'singleton-0.6', verification: 160_000n },
    { id: 'singleton-0.7', verification: 100_000n },
  ] as const)('$id', ({ id, verification }) => {
    const { token } = layouts[id];
    if (token === undefined) throw new Error(`layout ${id} has no token mode`);
    const data = token.encode(op, terms, stubSignature());
    const limits = limitsWithPayment(estimated, op, token, data);
    expect(limits).toEqual({
      callGasLimit: 50_000n,
      verificationGasLimit: verification,
      preVerificationGas: preVerificationGas(op, data),
    });
    expect(limits.preVerificationGas).toBeGreaterThan(preVerificationGas(op, '0x'));
  });

  test('are never below what the contract demands', () => {
    const little = { ...estimated, verificationGasLimit: 0n };
    const demanding = { minVerificationGasLimit: 60_001n, validationGas: () => 10_000n };
    expect(limitsWithPayment(little, op, demanding, '0x').verificationGasLimit).toBe(60_001n);
  });
});
