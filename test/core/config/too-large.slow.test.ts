import { describe, expect, test } from '@jest/globals';
import { compilePaymaster } from '../../../core/config/compile.js';
import type { CompiledPaymaster } from '../../../core/config/compile.js';
import type { PaymasterSources } from '../../../core/config/sources.js';
import { maxConfigBytes } from '../../../core/config/paymaster-config.js';
import type { SmartContract } from '../../../core/resources/smart-contract.js';
import { aPaymaster, aPolicy, aSmartContract, anOrganisation } from '../../build/resources.js';
import { someNow, someSources } from '../../build/sources.js';

const compile = (overrides: Partial<PaymasterSources> = {}): CompiledPaymaster =>
  compilePaymaster(someSources(overrides));

describe('what is too large', () => {
  const manyMethods = JSON.stringify(
    Array.from({ length: 1000 }, (_, index) => ({ name: `method${index}`, inputs: [] })),
  );
  /** Each about 13 KiB compiled: 40 are too many. */
  const large = (count: number, methods = 1000): readonly SmartContract[] =>
    Array.from({ length: count }, (_, index) =>
      aSmartContract({
        meta: { name: `c${index}` },
        name: `C${index}`,
        address: `0x${(index + 1).toString(16).padStart(40, '0')}`,
        abi: manyMethods,
        whitelistedMethods: Array.from({ length: methods }, (__, method) => `method${method}`),
      }),
    );
  const fitting = compile({ contracts: large(10) }).config;

  test('is not served: the contracts that fitted last stay, and the condition says so', () => {
    const compiled = compile({ contracts: large(50), previous: fitting });
    expect(compiled.programmed).toMatchObject({ status: 'False', reason: 'TooLarge' });
    expect(compiled.config).toEqual(fitting);
  });

  test('fits whatever generation the store writes into it', () => {
    for (let count = 35; count < 45; count += 1) {
      const { config } = compile({ contracts: large(count) });
      const stored = { ...config, configGeneration: someNow };
      expect(Buffer.byteLength(JSON.stringify(stored))).toBeLessThanOrEqual(maxConfigBytes);
    }
  });

  test('still obeys everything else at once: suspension, keys, policies, caps', () => {
    const paymaster = aPaymaster({ suspended: true, keyGeneration: 2, gas: { maxCallGasLimit: 1 } });
    const compiled = compile({ paymaster, contracts: large(50), policies: [aPolicy()], previous: fitting });
    expect(compiled.config).toMatchObject({
      suspended: true,
      contracts: fitting.contracts,
      gas: { maxCallGasLimit: 1 },
      limits: [{ name: 'Daily' }],
    });
    expect(compiled.config.keys).not.toEqual(fitting.keys);
  });

  test('keeps no contract and no method that was taken out meanwhile', () => {
    const contracts = [...large(1, 3), ...large(50).slice(2)];
    const compiled = compile({ contracts, previous: fitting });
    expect(compiled.config.contracts).toHaveLength(9);
    expect(compiled.config.contracts[0]?.selectors).toHaveLength(3);
    expect(compiled.config.contracts.map(({ name }) => name)).not.toContain('C1');
  });

  test('keeps no wallet that the platform has revoked, also after the tenant takes it out of the spec', () => {
    const wallet = `0x${'a1'.repeat(20)}`;
    const vouching = anOrganisation({ fundingAddresses: [wallet] });
    const paymaster = aPaymaster({ funding: { address: wallet } });
    const previous = compile({ organisation: vouching, paymaster, contracts: large(10) }).config;
    expect(previous.fundingAddress).toBeDefined();
    const revoked = compile({ paymaster, contracts: large(50), previous });
    expect(revoked.config).toMatchObject({ notReady: { reason: 'FundingNotProven' } });
    const without = compile({ contracts: large(50), previous: revoked.config });
    expect(without.accepted.status).toBe('True');
    expect(without.config.fundingAddress).toBeUndefined();
  });

  test('keeps no token, chain or quota that the platform has taken back', () => {
    const tokens = [{ name: 'ci', sha256: 'a'.repeat(64) }];
    const previous = compile({ organisation: anOrganisation({ tokens }), contracts: large(10) }).config;
    const revoked = anOrganisation({ chains: [1], quotas: { contractsPerPaymaster: 5 } });
    const { config } = compile({ organisation: revoked, contracts: large(50), previous });
    expect(config).toMatchObject({ tokens: [], notReady: { reason: 'ChainNotAllowed' } });
    expect(config.contracts).toHaveLength(5);
  });

  test('never leaves a paymaster open that was open before it had contracts', () => {
    const compiled = compile({ contracts: large(50), previous: compile().config });
    expect(compiled.config).toMatchObject({ contractsRegistered: true, contracts: [] });
  });

  test('drops only the contracts for which what counts at once leaves no room', () => {
    const previous = { ...fitting, contracts: compile({ contracts: large(39) }).config.contracts };
    expect(previous.contracts).toHaveLength(39);
    const tokens = Array.from({ length: 64 }, (_, index) => ({
      name: `t${index}`,
      sha256: index.toString(16).padStart(64, '0'),
      expiresAt: '2030-01-01T00:00:00Z',
    }));
    const policies = Array.from({ length: 5 }, (_, index) =>
      aPolicy({
        meta: { name: `w${index}` },
        name: `W${index}`,
        policyType: 'WEBHOOK',
        webhook: { url: `https://host.example/${'x'.repeat(2000)}` },
      }),
    );
    const organisation = anOrganisation({ tokens });
    const { config } = compile({ organisation, policies, contracts: large(50), previous });
    expect(config.contractsRegistered).toBe(true);
    expect(config.tokens).toHaveLength(64);
    const kept = config.contracts.length;
    expect(kept).toBeGreaterThan(30);
    expect(config.contracts).toEqual(previous.contracts.slice(0, kept));
    const withNext = { ...config, contracts: previous.contracts.slice(0, kept + 1) };
    const bytes = (some: object) =>
      Buffer.byteLength(JSON.stringify({ ...some, configGeneration: Number.MAX_SAFE_INTEGER }));
    expect(bytes(config)).toBeLessThanOrEqual(maxConfigBytes);
    expect(bytes(withNext)).toBeGreaterThan(maxConfigBytes);
  });

  test('from the start signs nothing', () => {
    const compiled = compile({ contracts: large(50) });
    expect(compiled.config).toMatchObject({ contracts: [], notReady: { reason: 'TooLarge' } });
    const still = compile({ contracts: large(50), previous: compiled.config });
    expect(still.config.notReady?.reason).toBe('TooLarge');
    expect(compile({ contracts: large(1), previous: compiled.config }).config.notReady).toBeUndefined();
  });
});
