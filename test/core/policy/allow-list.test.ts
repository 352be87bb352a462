import { describe, expect, test } from '@jest/globals';
import { Interface } from 'ethers';
import type { PaymasterConfig } from '../../../core/config/paymaster-config.js';
import { compileAllowList, hasSelector } from '../../../core/policy/rules/allow-list/compile.js';
import { decideCalls, traceCalls } from '../../../core/policy/rules/allow-list/decide.js';
import { pass } from '../../../core/refusal.js';
import type { RefusalReason } from '../../../core/refusal.js';
import { parseAddress, toAddressKey } from '../../../core/units/address.js';
import type { Hex } from '../../../core/units/hex.js';
import { decodeCalls } from '../../build/decoded.js';
import { decideDeployment } from '../../../core/policy/wallet-deployment/kind.js';

type Config = Pick<
  PaymasterConfig,
  'defaultContractAction' | 'contractsRegistered' | 'contracts' | 'pausedContracts'
>;

const game = parseAddress('0xAbCdEF0123456789aBcdeF0123456789abCDeF01');
const shop = parseAddress('0x2222222222222222222222222222222222222222');
const stranger = '0x3333333333333333333333333333333333333333';
const mint = '0x1249c58b';
const buy = '0xa6f2ae3a';

const aConfig = (over: Partial<Config> = {}): Config => ({
  defaultContractAction: 'Allow',
  contractsRegistered: true,
  contracts: [
    { name: 'Game', address: game, selectors: [mint] },
    { name: 'Shop', address: shop, selectors: [buy] },
  ],
  ...over,
});
const nothingRegistered: Partial<Config> = { contractsRegistered: false, contracts: [] };

const account = new Interface([
  'function execute(address,uint256,bytes)',
  'function executeBatch(address[],uint256[],bytes[])',
]);
const call = (target: string, data: string, value = 0n) =>
  account.encodeFunctionData('execute', [target, value, data]) as Hex;
const batch = (...calls: readonly (readonly [string, string])[]) =>
  account.encodeFunctionData('executeBatch', [
    calls.map(([target]) => target),
    calls.map(() => 0n),
    calls.map(([, data]) => data),
  ]) as Hex;

const pausedShop: Partial<Config> = {
  contracts: [{ name: 'Game', address: game, selectors: [mint] }],
  pausedContracts: [shop],
};

type Case = {
  readonly name: string;
  readonly config?: Partial<Config>;
  readonly callData: Hex;
  readonly initCode?: Hex;
  readonly want: 'pass' | RefusalReason;
};

describe('contracts and methods', () => {
  test.each<Case>([
    { name: 'a whitelisted method of a registered contract', callData: call(game, mint), want: 'pass' },
    { name: 'the same with value and arguments', callData: call(game, `${mint}00ff`, 5n), want: 'pass' },
    { name: 'a paused contract', config: pausedShop, callData: call(shop, buy), want: 'CONTRACT_PAUSED' },
    {
      name: 'a paused contract behind one that hits',
      config: pausedShop,
      callData: batch([game, mint], [shop, buy]),
      want: 'CONTRACT_PAUSED',
    },
    {
      name: 'a paused contract that is the only one',
      config: { contracts: [], pausedContracts: [shop] },
      callData: call(shop, buy),
      want: 'CONTRACT_PAUSED',
    },
    {
      name: 'a stranger beside a paused contract',
      config: pausedShop,
      callData: call(stranger, buy),
      want: 'CONTRACT_NOT_REGISTERED',
    },
    { name: 'a batch of which every call hits', callData: batch([game, mint], [shop, buy]), want: 'pass' },
    {
      name: 'initCode with a whitelisted call',
      callData: call(game, mint),
      initCode: `0x${'11'.repeat(20)}`,
      want: 'pass',
    },
    {
      name: 'a method of another registered contract',
      callData: call(game, buy),
      want: 'METHOD_NOT_WHITELISTED',
    },
    {
      name: 'a contract that is not registered',
      callData: call(stranger, mint),
      want: 'CONTRACT_NOT_REGISTERED',
    },
    {
      name: 'a batch of which the last call misses',
      callData: batch([game, mint], [stranger, mint]),
      want: 'CONTRACT_NOT_REGISTERED',
    },
    {
      name: 'a batch of which the first call misses',
      callData: batch([shop, mint], [game, mint]),
      want: 'METHOD_NOT_WHITELISTED',
    },
    { name: 'a plain transfer to a stranger', callData: call(stranger, '0x', 1n), want: 'VALUE_TRANSFER' },
    {
      name: 'a plain transfer to a registered contract',
      callData: call(game, '0x', 1n),
      want: 'VALUE_TRANSFER',
    },
    {
      name: 'data shorter than a selector',
      callData: call(game, '0x1249c5'),
      want: 'METHOD_NOT_WHITELISTED',
    },
    { name: 'undecodable callData', callData: '0xb61d27f6ff', want: 'CALLDATA_UNDECODABLE' },
    { name: 'an unknown account', callData: '0x12345678', want: 'ACCOUNT_UNKNOWN' },
    { name: 'no call by a deployed account', callData: '0x', want: 'CONTRACT_NOT_REGISTERED' },
    { name: 'an empty batch by a deployed account', callData: batch(), want: 'CONTRACT_NOT_REGISTERED' },
    {
      name: 'all contracts paused or invalid',
      config: { contracts: [] },
      callData: call(game, mint),
      want: 'CONTRACT_NOT_REGISTERED',
    },
    {
      name: 'nothing registered, Allow',
      config: nothingRegistered,
      callData: call(stranger, '0x', 1n),
      want: 'pass',
    },
    {
      name: 'nothing registered, Allow, undecodable',
      config: nothingRegistered,
      callData: '0xff',
      want: 'pass',
    },
    {
      name: 'nothing registered, Deny',
      config: { ...nothingRegistered, defaultContractAction: 'Deny' },
      callData: call(game, mint),
      want: 'OPEN_SPONSORSHIP_DENIED',
    },
  ])('$name: $want', ({ config, callData, initCode = '0x', want }) => {
    const verdict = decideCalls(compileAllowList(aConfig(config)), decodeCalls(callData), { initCode });
    expect(verdict.pass ? 'pass' : verdict.reason).toBe(want);
  });

  test('an address is found whatever its case, in the config and in callData', () => {
    const allowList = compileAllowList(aConfig());
    const upper = call(game, mint).toLowerCase() as Hex;
    expect(decideCalls(allowList, decodeCalls(upper), { initCode: '0x' })).toEqual(pass);
  });

  describe.each([1, 8, 9, 1000])('of a contract with %i whitelisted methods', (count) => {
    const selectors = Array.from({ length: count }, (_, n) => `0x${(n + 1).toString(16).padStart(8, 'A')}`);
    const allowList = compileAllowList(aConfig({ contracts: [{ name: 'Game', address: game, selectors }] }));
    const decide = (data: string) =>
      decideCalls(allowList, decodeCalls(call(game, data)), { initCode: '0x' }).pass;

    test('each passes', () => {
      expect(selectors.filter((selector) => !decide(selector))).toEqual([]);
    });

    test.each(['0x', '0xaa', '0xaaaaaa', '0x00000001', '0xbbbbbbbb'])('%s does not', (data) => {
      expect(decide(data)).toBe(false);
    });
  });

  test('nothing that lies across two whitelisted methods is one', () => {
    const selectors = ['0x0a0b0c0d', '0xa0b0c0d0', '0x00000000', '0x0000000a'];
    const listed = { name: 'Game', address: toAddressKey(game), selectors: selectors.join('') };
    for (let at = 0; at < listed.selectors.length; at++)
      for (let length = 0; length <= 20; length++) {
        const part = listed.selectors.slice(at, at + length);
        expect(hasSelector(listed, part)).toBe(selectors.includes(part));
      }
  });

  test.each([1, 2, 8, 9, 300])('of %i contracts each is found by its address, and no other is', (count) => {
    const addresses = Array.from({ length: count }, (_, n) =>
      parseAddress(`0x${(n + 1).toString(16).padStart(40, '0')}`),
    );
    const contracts = addresses.map((address, n) => ({ name: `Game ${n}`, address, selectors: [mint] }));
    const allowList = compileAllowList(aConfig({ contracts }));
    const decide = (target: string) =>
      decideCalls(allowList, decodeCalls(call(target, mint)), { initCode: '0x' }).pass;
    expect(addresses.filter((address) => !decide(address))).toEqual([]);
    expect(decide(stranger)).toBe(false);
    expect(traceCalls(allowList, decodeCalls(call(addresses.at(-1) ?? '', mint)))).toMatchObject([
      { contract: `Game ${count - 1}`, verdict: pass },
    ]);
  });

  test('of two registrations of one address the later one counts', () => {
    const contracts = [
      { name: 'Old', address: game, selectors: [mint] },
      { name: 'New', address: game, selectors: [buy] },
    ];
    const allowList = compileAllowList(aConfig({ contracts }));
    const decide = (data: string) =>
      decideCalls(allowList, decodeCalls(call(game, data)), { initCode: '0x' }).pass;
    expect([decide(mint), decide(buy)]).toEqual([false, true]);
  });

  test('a refusal names the call, its target and its selector', () => {
    const verdict = decideCalls(compileAllowList(aConfig()), decodeCalls(batch([game, mint], [shop, mint])), {
      initCode: '0x',
    });
    expect(verdict).toMatchObject({ detail: `call 1 to ${shop.toLowerCase()} with selector ${mint}` });
  });

  test('the trace judges every call by itself', () => {
    const decoded = decodeCalls(batch([stranger, mint], [game, mint], [game, buy]));
    expect(traceCalls(compileAllowList(aConfig()), decoded)).toMatchObject([
      {
        target: stranger,
        selector: mint,
        value: '0',
        verdict: { pass: false, reason: 'CONTRACT_NOT_REGISTERED' },
      },
      { target: game.toLowerCase(), contract: 'Game', verdict: { pass: true } },
      { contract: 'Game', selector: buy, verdict: { pass: false, reason: 'METHOD_NOT_WHITELISTED' } },
    ]);
    expect(traceCalls(compileAllowList(aConfig()), decodeCalls('0xff'))).toEqual([]);
  });
});

describe('wallet deployment', () => {
  const initCode: Hex = `0x${'11'.repeat(24)}`;
  test.each<{
    name: string;
    allowed: boolean;
    config?: Partial<Config>;
    callData: Hex;
    initCode?: Hex;
    want: 'pass' | RefusalReason;
  }>([
    { name: 'deploy-only with the policy', allowed: true, callData: '0x', initCode, want: 'pass' },
    {
      name: 'deploy-only without it',
      allowed: false,
      callData: '0x',
      initCode,
      want: 'DEPLOYMENT_NOT_ALLOWED',
    },
    {
      name: 'deploy with an empty batch, without it',
      allowed: false,
      callData: batch(),
      initCode,
      want: 'DEPLOYMENT_NOT_ALLOWED',
    },
    {
      name: 'deploy-only without it, all contracts paused',
      allowed: false,
      config: { contracts: [] },
      callData: '0x',
      initCode,
      want: 'DEPLOYMENT_NOT_ALLOWED',
    },
    {
      name: 'deploy-only without it, nothing registered, Allow',
      allowed: false,
      config: nothingRegistered,
      callData: '0x',
      initCode,
      want: 'pass',
    },
    {
      name: 'deploy-only without it, nothing registered, Deny',
      allowed: false,
      config: { ...nothingRegistered, defaultContractAction: 'Deny' },
      callData: '0x',
      initCode,
      want: 'DEPLOYMENT_NOT_ALLOWED',
    },
    {
      name: 'deploy-only with it, nothing registered, Deny',
      allowed: true,
      config: { ...nothingRegistered, defaultContractAction: 'Deny' },
      callData: '0x',
      initCode,
      want: 'pass',
    },
    {
      name: 'deployment with a whitelisted call, without it',
      allowed: false,
      callData: call(game, mint),
      initCode,
      want: 'pass',
    },
    {
      name: 'deployment with a call that is not whitelisted, with it',
      allowed: true,
      callData: call(stranger, mint),
      initCode,
      want: 'CONTRACT_NOT_REGISTERED',
    },
    {
      name: 'deployment with undecodable callData, with it',
      allowed: true,
      callData: '0xff',
      initCode,
      want: 'CALLDATA_UNDECODABLE',
    },
  ])('$name: $want', ({ allowed, config, callData, initCode: code = '0x', want }) => {
    const allowList = compileAllowList(aConfig(config));
    const decoded = decodeCalls(callData);
    const op = { initCode: code };
    const calls = decideCalls(allowList, decoded, op);
    const verdict = calls.pass ? decideDeployment(allowed, allowList, decoded, op) : calls;
    expect(verdict.pass ? 'pass' : verdict.reason).toBe(want);
  });
});
