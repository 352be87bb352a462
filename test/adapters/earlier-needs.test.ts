import { expect, test } from '@jest/globals';
import { createEarlierNeeds } from '../../adapters/estimator/simulation.js';
import { entryPoints } from '../../core/entry-point/address.js';
import { parseUserOperation } from '../../core/userop/parse.js';
import type { EstimateRequest } from '../../core/userop/estimator.js';
import { addressOf } from '../build/configs.js';
import { anOperation, execute } from '../build/operations.js';
import { defaultLimits } from '../build/default-limits.js';

const aRequest = (target: number, overrides: Partial<EstimateRequest> = {}): EstimateRequest => ({
  paymasterId: 'pm-1',
  chainId: 31337,
  entryPoint: entryPoints['0.6'],
  entryPointVersion: '0.6',
  op: parseUserOperation(anOperation({ callData: execute(addressOf(target)) }), '0.6'),
  paymasterAndData: '0x',
  minVerificationGasLimit: 0n,
  most: defaultLimits,
  ...overrides,
});

test('operations of one kind share their needs, also of different senders; others do not', () => {
  const earlier = createEarlierNeeds();
  const needs = { callGas: 40_000n, preOpGas: 60_000n };
  earlier.note(aRequest(1), needs);
  const { op } = aRequest(1);
  expect(
    earlier.of(aRequest(1, { op: { ...op, sender: entryPoints['0.7'].toLowerCase() as typeof op.sender } })),
  ).toEqual(needs);
  expect(earlier.of(aRequest(2))).toBeUndefined();
  expect(earlier.of(aRequest(1, { chainId: 1 }))).toBeUndefined();
  expect(earlier.of(aRequest(1, { op: { ...op, callData: `${op.callData}00` } }))).toBeUndefined();
});

test('a thousand kinds are kept, and the one that was seen longest ago is forgotten first', () => {
  const earlier = createEarlierNeeds();
  const needs = { callGas: 1n, preOpGas: 1n };
  for (let target = 1; target <= 1_000; target += 1) earlier.note(aRequest(target), needs);
  earlier.note(aRequest(1), needs);
  earlier.note(aRequest(1_001), needs);
  expect(earlier.of(aRequest(1))).toEqual(needs);
  expect(earlier.of(aRequest(2))).toBeUndefined();
  expect(earlier.of(aRequest(1_001))).toEqual(needs);
});
