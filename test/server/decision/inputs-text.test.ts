import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { toAddressKey } from '../../../core/units/address.js';
import type { EpochMs, EpochSeconds } from '../../../core/units/time.js';
import { gwei } from '../../../core/units/wei.js';
import type { Hex } from '../../../core/units/hex.js';
import type { DecidedInputs, Inputs } from '../../../server/decision/inputs.js';
import { formatInputs, longestInputs, parseInputs } from '../../../server/decision/inputs-text.js';
import { addressOf } from '../../build/configs.js';
import { runs } from '../../support/property.js';

describe('text of recorded inputs', () => {
  test('is read as it was written, whatever the operation and the facts are', () => {
    fc.assert(
      fc.property(anyInputs, (inputs) => {
        expect(parseInputs(formatInputs(inputs))).toEqual(inputs);
      }),
      runs(100),
    );
  });

  test('bytes of callData are not written beside their text', () => {
    const inputs = decided({ callData: '0x01' });
    const { op } = inputs.request;
    const callDataBytes = { hex: op.callData, bytes: Uint8Array.of(1) };
    const text = formatInputs({ ...inputs, request: { ...inputs.request, op: { ...op, callDataBytes } } });
    expect(text).toBe(formatInputs(inputs));
  });

  test.each([
    {
      name: 'callData of a megabyte',
      change: { callData: `0x${'ab'.repeat(1_048_576)}` as Hex },
      reverted: undefined,
    },
    {
      name: 'a text of a contract that makes it a little too long',
      change: {},
      reverted: 'é"'.repeat(6_000),
    },
  ])('$name is left out, and what it reserved is kept', ({ change, reverted }) => {
    const inputs = decided(change, reverted);
    const text = formatInputs(inputs);
    expect(text.length).toBeLessThan(1_000);
    const { op } = inputs.request;
    expect(parseInputs(text)).toEqual({
      kind: 'left-out',
      reason: 'size',
      characters: expect.any(Number),
      mode: inputs.mode,
      verdict: inputs.verdict,
      entryPoint: inputs.entryPoint,
      sender: op.sender,
      nonce: op.nonce,
      usage: inputs.usage,
    });
  });

  test('the longest that fits is kept', () => {
    const rest = formatInputs(decided({ callData: '0x' })).length;
    const longest = `0x${'a'.repeat(longestInputs - rest)}` as Hex;
    expect(formatInputs(decided({ callData: longest }))).toHaveLength(longestInputs);
    expect(parseInputs(formatInputs(decided({ callData: `${longest}a` })))).toMatchObject({
      kind: 'left-out',
    });
  });

  test.each([
    { name: 'a newer form', text: '{"form":2,"kind":"decided"}' },
    { name: 'no form', text: '{"kind":"decided"}' },
    { name: 'a list', text: '[]' },
    { name: 'half a text', text: '{"form":1' },
    { name: 'an amount that is not one', text: '{"form":1,"kind":"ending","nonce":"x"}' },
  ])('$name is not read', ({ text }) => {
    expect(parseInputs(text)).toBeUndefined();
  });
});

function decided(op: { readonly callData?: Hex }, reverted = 'AA23'): DecidedInputs {
  return {
    kind: 'decided',
    mode: 'SPONSORED',
    verdict: { pass: true },
    request: {
      calculateGasLimits: undefined,
      expirySeconds: undefined,
      method: 'pm_sponsorUserOperation',
      op: {
        sender: toAddressKey(addressOf(3)),
        nonce: 2n ** 256n - 1n,
        initCode: '0x',
        callData: '0x',
        callGasLimit: 1n,
        verificationGasLimit: undefined,
        preVerificationGas: undefined,
        maxFeePerGas: 2n,
        maxPriorityFeePerGas: 1n,
        signature: '0x',
        ...op,
      },
    },
    generations: { paymaster: 1, chain: 2 },
    entryPoint: toAddressKey(addressOf(1)),
    now: 1_800_000_000_000 as EpochMs,
    head: {
      number: 1,
      timestamp: 1_800_000_000,
      baseFeePerGas: 1n,
      priorityFeePerGas: 0n,
      observedAt: 1_800_000_000_000 as EpochMs,
    },
    estimate: { callGasLimit: 1n, verificationGasLimit: 2n, preVerificationGas: 3n, reverted },
    usage: {
      outcome: 'reserved',
      plannedAt: 1_800_000_000_001 as EpochMs,
      prefundWei: 10n ** 18n,
      validUntil: 1_800_000_600 as EpochSeconds,
    },
  };
}

const uint256 = fc.bigInt({ min: 0n, max: 2n ** 256n - 1n });
const time = fc.nat().map((ms) => ms as EpochMs);
const address = fc.nat({ max: 1_000 }).map((n) => toAddressKey(addressOf(n + 1)));
const hex = fc
  .uint8Array({ maxLength: 500 })
  .map((bytes) => `0x${Buffer.from(bytes).toString('hex')}` as Hex);
const limits = { callGasLimit: uint256, verificationGasLimit: uint256, preVerificationGas: uint256 };
const verdict = fc.oneof(
  fc.constant({ pass: true } as const),
  fc.record(
    { pass: fc.constant(false as const), reason: fc.constant('NOT_FUNDED' as const), policyId: fc.string() },
    { requiredKeys: ['pass', 'reason'] },
  ),
);
const op = fc.record(
  {
    sender: address,
    nonce: uint256,
    initCode: hex,
    callData: hex,
    ...limits,
    maxFeePerGas: uint256,
    maxPriorityFeePerGas: uint256,
    signature: hex,
    eip7702Auth: fc.record({
      address,
      chainId: uint256,
      nonce: uint256,
      r: hex,
      s: hex,
      yParity: fc.constantFrom(0 as const, 1 as const),
    }),
  },
  {
    requiredKeys: [
      'sender',
      'nonce',
      'initCode',
      'callData',
      'maxFeePerGas',
      'maxPriorityFeePerGas',
      'signature',
    ],
  },
);
const usage = fc.record({
  outcome: fc.constantFrom('reserved' as const, 'limit' as const, 'deposit' as const),
  plannedAt: time,
  prefundWei: uint256,
  validUntil: fc.nat().map((seconds) => seconds as EpochSeconds),
});
const anyDecided = fc.record(
  {
    kind: fc.constant('decided' as const),
    mode: fc.constantFrom('SPONSORED' as const, 'ERC20' as const),
    verdict,
    request: fc.record(
      {
        op,
        calculateGasLimits: fc.constantFrom(true, false, 'missing' as const),
        expirySeconds: fc.nat(),
        method: fc.string(),
        phase: fc.constantFrom('commit' as const, 'finalize' as const),
        committed: hex,
        feeToken: address,
        isStub: fc.constant(true as const),
      },
      { requiredKeys: ['op', 'method'] },
    ),
    generations: fc.record({ paymaster: fc.nat(), chain: fc.nat() }),
    entryPoint: address,
    now: time,
    head: fc.record({
      number: fc.nat(),
      timestamp: fc.nat(),
      baseFeePerGas: uint256,
      priorityFeePerGas: uint256,
      observedAt: time,
    }),
    dataReading: fc.record({ price: uint256, observedAt: time }),
    estimate: fc.record(
      { ...limits, reverted: fc.string(), remedy: fc.string() },
      { requiredKeys: ['callGasLimit', 'verificationGasLimit', 'preVerificationGas'] },
    ),
    webhooks: fc.array(
      fc.record({
        policyId: fc.string(),
        verdict: fc.constantFrom(
          'verified' as const,
          'refused' as const,
          'failed' as const,
          'blocked' as const,
        ),
      }),
    ),
    payment: fc.record(
      { price: fc.record({ rate: uint256 }), payer: address, takeable: uint256, simulated: verdict },
      { requiredKeys: [] },
    ),
    validation: verdict,
    usage,
  },
  { requiredKeys: ['kind', 'mode', 'verdict', 'request', 'generations', 'entryPoint', 'now', 'head'] },
);
const anyEnding = fc.record(
  {
    kind: fc.constant('ending' as const),
    how: fc.constantFrom('settled' as const, 'released' as const, 'forfeited' as const, 'restored' as const),
    entryPoint: address,
    sender: address,
    nonce: uint256,
    actualCost: fc.nat().map(gwei),
  },
  { requiredKeys: ['kind', 'how', 'entryPoint', 'sender', 'nonce'] },
);
const anyInputs = fc.oneof(anyDecided, anyEnding) as fc.Arbitrary<Inputs>;
