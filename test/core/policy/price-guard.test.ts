import { describe, expect, test } from '@jest/globals';
import { compilePriceGuard } from '../../../core/policy/rules/price-guard/compile.js';
import { decideFees, decideGasLimits, decideTip } from '../../../core/policy/rules/price-guard/decide.js';
import type { NetworkFees } from '../../../core/policy/rules/price-guard/decide.js';
import type { RefusalReason } from '../../../core/refusal.js';
import type { GasCaps } from '../../../core/policy/rules/price-guard/gas-caps.js';
import type { GasLimits, UserOperation } from '../../../core/entry-point/user-operation.js';

const gwei = 1_000_000_000n;

describe('fee caps', () => {
  const busy: NetworkFees = { baseFeePerGas: 40n * gwei, priorityFeePerGas: 2n * gwei };
  const quiet: NetworkFees = { baseFeePerGas: 1n, priorityFeePerGas: 1n };

  test.each<{
    name: string;
    paymaster?: GasCaps;
    chain?: GasCaps;
    network: NetworkFees | undefined;
    fee: bigint;
    tip: bigint;
    want: 'pass' | RefusalReason;
  }>([
    { name: 'three times the base fee', network: busy, fee: 120n * gwei, tip: gwei, want: 'pass' },
    { name: 'one wei above it', network: busy, fee: 120n * gwei + 1n, tip: gwei, want: 'FEE_TOO_HIGH' },
    { name: '50 gwei on a quiet chain', network: quiet, fee: 50n * gwei, tip: 0n, want: 'pass' },
    { name: 'one wei above it', network: quiet, fee: 50n * gwei + 1n, tip: 0n, want: 'FEE_TOO_HIGH' },
    { name: 'three times the tip', network: busy, fee: 50n * gwei, tip: 6n * gwei, want: 'pass' },
    {
      name: 'one wei above it',
      network: busy,
      fee: 50n * gwei,
      tip: 6n * gwei + 1n,
      want: 'PRIORITY_FEE_TOO_HIGH',
    },
    { name: '3 gwei tip on a quiet chain', network: quiet, fee: 50n * gwei, tip: 3n * gwei, want: 'pass' },
    {
      name: 'one wei above it',
      network: quiet,
      fee: 50n * gwei,
      tip: 3n * gwei + 1n,
      want: 'PRIORITY_FEE_TOO_HIGH',
    },
    { name: 'a tip equal to the fee', network: busy, fee: gwei, tip: gwei, want: 'pass' },
    { name: 'a tip above the fee', network: busy, fee: gwei, tip: gwei + 1n, want: 'PRIORITY_FEE_TOO_HIGH' },
    { name: 'without a head, the floor', network: undefined, fee: 50n * gwei, tip: 3n * gwei, want: 'pass' },
    {
      name: 'without a head, above the floor',
      network: undefined,
      fee: 51n * gwei,
      tip: gwei,
      want: 'FEE_TOO_HIGH',
    },
    {
      name: 'a fixed cap of the chain, below the network',
      chain: { maxFeePerGas: '1000' },
      network: busy,
      fee: 1001n,
      tip: 0n,
      want: 'FEE_TOO_HIGH',
    },
    {
      name: 'a wider cap of the paymaster than the chain’s has no effect',
      paymaster: { maxFeePerGas: '2000' },
      chain: { maxFeePerGas: '1000' },
      network: quiet,
      fee: 1001n,
      tip: 0n,
      want: 'FEE_TOO_HIGH',
    },
    {
      name: 'a lower cap of the paymaster than the chain’s',
      paymaster: { maxFeePerGas: '1000' },
      chain: { maxFeePerGas: '2000' },
      network: quiet,
      fee: 1001n,
      tip: 0n,
      want: 'FEE_TOO_HIGH',
    },
    {
      name: 'a cap of the chain above what the network asks',
      chain: { maxFeePerGas: '900000000000' },
      network: quiet,
      fee: 900n * gwei,
      tip: 0n,
      want: 'pass',
    },
    {
      name: 'a cap of the paymaster above the default, which floats, has no effect',
      paymaster: { maxFeePerGas: '1000000000000000' },
      network: quiet,
      fee: 50n * gwei + 1n,
      tip: 0n,
      want: 'FEE_TOO_HIGH',
    },
    {
      name: 'a cap of the paymaster between the least of the default and what it comes to now',
      paymaster: { maxFeePerGas: '60000000000' },
      network: busy,
      fee: 60n * gwei,
      tip: 0n,
      want: 'pass',
    },
    {
      name: 'a wider cap of the paymaster on the tip has no effect',
      paymaster: { maxPriorityFeePerGas: '1000000000000000' },
      network: quiet,
      fee: 50n * gwei,
      tip: 3n * gwei + 1n,
      want: 'PRIORITY_FEE_TOO_HIGH',
    },
    {
      name: 'a fixed cap on the tip',
      paymaster: { maxPriorityFeePerGas: '5' },
      network: busy,
      fee: gwei,
      tip: 6n,
      want: 'PRIORITY_FEE_TOO_HIGH',
    },
  ])('$name: $fee / $tip is $want', ({ paymaster = {}, chain = {}, network, fee, tip, want }) => {
    const verdict = decideFees(compilePriceGuard(paymaster, chain), network, {
      maxFeePerGas: fee,
      maxPriorityFeePerGas: tip,
    });
    expect(verdict.pass ? 'pass' : verdict.reason).toBe(want);
  });

  test.each([
    { name: 'what the chain asks for', min: '30000000000', tip: 30n * gwei, want: 'pass' },
    { name: 'a wei less', min: '30000000000', tip: 30n * gwei - 1n, want: 'PRIORITY_FEE_TOO_LOW' },
    { name: 'nothing, where nothing is asked for', min: undefined, tip: 0n, want: 'pass' },
  ])('a tip of $name: $want', ({ min, tip, want }) => {
    const verdict = decideTip(compilePriceGuard({}, {}, min), { maxPriorityFeePerGas: tip });
    expect(verdict.pass ? 'pass' : verdict.reason).toBe(want);
  });

  test.each([undefined, quiet])(
    'no default cap is below what the chain asks for, also without a head',
    (network) => {
      const guard = compilePriceGuard({}, {}, '30000000000');
      const fees = { maxFeePerGas: 40n * gwei, maxPriorityFeePerGas: 30n * gwei };
      expect(decideFees(guard, network, fees)).toEqual({ pass: true });
      const more = { ...fees, maxPriorityFeePerGas: 30n * gwei + 1n };
      expect(decideFees(guard, network, more)).toMatchObject({ reason: 'PRIORITY_FEE_TOO_HIGH' });
    },
  );

  test('the refusal says the value and the cap', () => {
    const verdict = decideFees(compilePriceGuard({}, {}), quiet, {
      maxFeePerGas: 51n * gwei,
      maxPriorityFeePerGas: 0n,
    });
    expect(verdict).toMatchObject({ detail: 'maxFeePerGas is 51000000000 wei, the cap is 50000000000' });
  });
});

describe('gas limit caps', () => {
  type Limits = GasLimits & Pick<UserOperation, 'initCode'>;
  const limits = (over: Partial<Limits> = {}): Limits => ({
    initCode: '0x',
    callGasLimit: 100_000n,
    verificationGasLimit: 100_000n,
    preVerificationGas: 50_000n,
    ...over,
  });

  test.each<{
    name: string;
    paymaster?: GasCaps;
    chain?: GasCaps;
    limits: Limits;
    own?: bigint;
    least?: bigint;
    want: 'pass' | RefusalReason;
    field?: string;
  }>([
    { name: 'ordinary limits', limits: limits(), want: 'pass' },
    { name: 'call 10 M', limits: limits({ callGasLimit: 10_000_000n }), want: 'pass' },
    {
      name: 'call above it',
      limits: limits({ callGasLimit: 10_000_001n }),
      want: 'GAS_LIMIT_TOO_HIGH',
      field: 'callGasLimit',
    },
    { name: 'verification 5 M', limits: limits({ verificationGasLimit: 5_000_000n }), want: 'pass' },
    {
      name: 'verification above it',
      limits: limits({ verificationGasLimit: 5_000_001n }),
      want: 'GAS_LIMIT_TOO_HIGH',
      field: 'verificationGasLimit',
    },
    { name: 'preVerification 200,000', limits: limits({ preVerificationGas: 200_000n }), want: 'pass' },
    {
      name: 'preVerification above it',
      limits: limits({ preVerificationGas: 200_001n }),
      own: 60_000n,
      want: 'GAS_LIMIT_TOO_HIGH',
      field: 'preVerificationGas',
    },
    {
      name: 'preVerification twice our own figure',
      limits: limits({ preVerificationGas: 600_000n }),
      own: 300_000n,
      want: 'pass',
    },
    {
      name: 'preVerification above that',
      limits: limits({ preVerificationGas: 600_001n }),
      own: 300_000n,
      want: 'GAS_LIMIT_TOO_HIGH',
      field: 'preVerificationGas',
    },
    {
      name: 'a lower cap of the chain',
      chain: { maxCallGasLimit: 99_999 },
      limits: limits(),
      want: 'GAS_LIMIT_TOO_HIGH',
      field: 'callGasLimit',
    },
    {
      name: 'limits whose sum a transaction holds',
      chain: { maxOperationGas: 2_050_000 },
      limits: limits({
        callGasLimit: 1_000_000n,
        verificationGasLimit: 1_000_000n,
        preVerificationGas: 50_000n,
      }),
      want: 'pass',
    },
    {
      name: 'limits of which each is within its cap, and the sum is not',
      chain: { maxOperationGas: 2_049_999 },
      limits: limits({
        callGasLimit: 1_000_000n,
        verificationGasLimit: 1_000_000n,
        preVerificationGas: 50_000n,
      }),
      want: 'GAS_LIMIT_TOO_HIGH',
      field: 'callGasLimit',
    },
    {
      name: 'a wider sum of the paymaster than the chain’s has no effect',
      paymaster: { maxOperationGas: 3_000_000_000 },
      chain: { maxOperationGas: 1_000 },
      limits: limits(),
      want: 'GAS_LIMIT_TOO_HIGH',
      field: 'callGasLimit',
    },
    {
      name: 'a wider cap of the paymaster than the chain’s has no effect',
      paymaster: { maxCallGasLimit: 100_000 },
      chain: { maxCallGasLimit: 1 },
      limits: limits(),
      want: 'GAS_LIMIT_TOO_HIGH',
      field: 'callGasLimit',
    },
    {
      name: 'a wider cap of the paymaster than the default has no effect',
      paymaster: { maxCallGasLimit: 30_000_000, maxVerificationGasLimit: 30_000_000 },
      limits: limits({ callGasLimit: 10_000_001n }),
      want: 'GAS_LIMIT_TOO_HIGH',
      field: 'callGasLimit',
    },
    {
      name: 'the chain raises the default, which the paymaster may then use',
      paymaster: { maxCallGasLimit: 20_000_000 },
      chain: { maxCallGasLimit: 30_000_000 },
      limits: limits({ callGasLimit: 20_000_000n }),
      want: 'pass',
    },
    {
      name: 'a wider preVerification cap of the paymaster than the default has no effect',
      paymaster: { maxPreVerificationGas: 30_000_000 },
      limits: limits({ preVerificationGas: 600_001n }),
      own: 300_000n,
      want: 'GAS_LIMIT_TOO_HIGH',
      field: 'preVerificationGas',
    },
    {
      name: 'a preVerification cap of the chain counts as it is',
      chain: { maxPreVerificationGas: 2_000_000 },
      limits: limits({ preVerificationGas: 2_000_000n }),
      want: 'pass',
    },
    {
      name: 'verification 1 M with initCode',
      limits: limits({ initCode: '0xf0', verificationGasLimit: 1_000_000n }),
      want: 'pass',
    },
    {
      name: 'verification above it with initCode',
      limits: limits({ initCode: '0xf0', verificationGasLimit: 1_000_001n }),
      want: 'GAS_LIMIT_TOO_HIGH',
      field: 'verificationGasLimit',
    },
    {
      name: 'the chain raises what deployments may use',
      chain: { maxDeploymentGas: 2_000_000 },
      limits: limits({ initCode: '0xf0', verificationGasLimit: 2_000_000n }),
      want: 'pass',
    },
    {
      name: 'the paymaster cannot raise what deployments may use',
      paymaster: { maxDeploymentGas: 2_000_000 },
      limits: limits({ initCode: '0xf0', verificationGasLimit: 1_000_001n }),
      want: 'GAS_LIMIT_TOO_HIGH',
      field: 'verificationGasLimit',
    },
    {
      name: 'a fixed preVerification cap',
      paymaster: { maxPreVerificationGas: 49_999 },
      limits: limits(),
      own: 10n ** 9n,
      want: 'GAS_LIMIT_TOO_HIGH',
      field: 'preVerificationGas',
    },
    { name: 'the least that the contract needs', limits: limits(), least: 100_000n, want: 'pass' },
    {
      name: 'less than the contract needs',
      limits: limits(),
      least: 100_001n,
      want: 'GAS_LIMIT_TOO_LOW',
      field: 'verificationGasLimit',
    },
  ])('$name: $want', ({ paymaster = {}, chain = {}, limits: given, own = 0n, least = 0n, want, field }) => {
    const verdict = decideGasLimits(compilePriceGuard(paymaster, chain), given, {
      minVerificationGasLimit: least,
      ownPreVerificationGas: () => own,
    });
    expect(verdict.pass ? 'pass' : verdict.reason).toBe(want);
    expect(verdict.pass ? undefined : verdict.detail.split(' ')[0]).toBe(field);
  });
});
