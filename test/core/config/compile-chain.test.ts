import { describe, expect, test } from '@jest/globals';
import { compileChain } from '../../../core/config/compile-chain.js';
import type { CompiledChain } from '../../../core/config/compile-chain.js';
import type { FeeToken } from '../../../core/resources/fee-token.js';
import type { Chain } from '../../../core/resources/chain.js';
import type { ProfileSpec } from '../../../core/resources/profile.js';
import { aChain, aFeeToken, aProfile } from '../../build/resources.js';
import { someLayouts } from '../../build/sources.js';
import { parseAddress } from '../../../core/units/address.js';

const compile = (chain: Chain, feeTokens: readonly FeeToken[] = []): CompiledChain =>
  compileChain({ chain, feeTokens, layouts: someLayouts, previous: undefined });

test('a chain is served with defaults written out and addresses in checksummed form', () => {
  const { config, accepted } = compile(aChain({ delegates: [`0x${'ab'.repeat(20)}`] }), [aFeeToken()]);
  expect(accepted.status).toBe('True');
  expect(config).toEqual({
    chainId: 31337,
    objectName: 'dev',
    configGeneration: 0,
    suspended: false,
    rpc: { urls: ['http://127.0.0.1:1'] },
    nativeCurrency: { name: 'Ether', symbol: 'ETH', decimals: 18 },
    confirmations: 12,
    delegates: ['0xABaBaBaBABabABabAbAbABAbABabababaBaBABaB'],
    gas: {},
    profiles: [
      {
        version: '1.1.0',
        layout: 'vendor-1.1.0',
        entryPoint: '0x5FF137D4b0FDCD49DcA30c7CF57E578a026d2789',
        sponsorship: '0x00000f79B7FaF42EEBAdbA19aCc07cD08Af44789',
        signerFile: 'dev',
        defaultFunding: { address: '0x00000000000000000000000000000000000000f1', organisations: ['*'] },
        options: { priceMarkup: 1_000_000, unaccountedGas: 50_000 },
      },
    ],
    feeTokens: [
      expect.objectContaining({ symbol: 'USD', address: '0x00000000000000000000000000000000000000D1' }),
    ],
  });
});

describe('a wrong EIP-55 checksum', () => {
  const mistyped = '0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAeD';
  const profile = { ...aProfile, addresses: { sponsorship: mistyped } };
  const token = aFeeToken({ address: mistyped });
  const rightly = (address: string): string => address.toLowerCase();

  test('of a new profile or token is not accepted, and the message names the field', () => {
    const { accepted, config, feeTokens } = compile(aChain({ profiles: [profile] }), [token]);
    expect(accepted).toMatchObject({
      reason: 'BadChecksum',
      message: expect.stringContaining('1.1.0: addresses.sponsorship must be an address whose'),
    });
    expect(config.profiles).toEqual([]);
    expect(feeTokens[0]?.accepted).toMatchObject({ reason: 'BadChecksum' });
    expect(config.feeTokens).toEqual([]);
  });

  test('in a served config is a warning', () => {
    const before = compile(
      aChain({ profiles: [{ ...profile, addresses: { sponsorship: rightly(mistyped) } }] }),
      [aFeeToken({ address: rightly(mistyped) })],
    ).config;
    const after = compileChain({
      chain: aChain({ profiles: [profile] }),
      feeTokens: [token],
      layouts: someLayouts,
      previous: before,
    });
    expect(after.config).toEqual(before);
    expect(after.accepted.status).toBe('True');
    const warning = { type: 'AddressChecksum', reason: 'Wrong' };
    expect(after.profiles[0]?.checksum).toMatchObject(warning);
    expect(after.feeTokens[0]?.checksum).toMatchObject(warning);
  });
});

describe('accountFunctions', () => {
  const own = { signature: 'execFromEntryPoint(address,uint256,bytes)', shape: 'call' } as const;

  test('are served with their selectors, and one that is built in is named and left out', () => {
    const builtIn = { signature: 'execute(address,uint256,bytes)', shape: 'call' } as const;
    const { accepted, config, ignoredFunctions } = compile(aChain({ accountFunctions: [builtIn, own] }));
    expect(accepted.status).toBe('True');
    expect(config.accountFunctions).toEqual([{ ...own, selector: '0x80c5c7d0' }]);
    expect(ignoredFunctions).toMatchObject({
      type: 'FunctionsIgnored',
      message: 'spec.accountFunctions[0] execute(address,uint256,bytes): it is built in.',
    });
  });

  test('without a row are absent', () => {
    const { config, ignoredFunctions } = compile(aChain({ accountFunctions: [] }));
    expect(config.accountFunctions).toBeUndefined();
    expect(ignoredFunctions).toBeUndefined();
  });
});

describe('a wrong EIP-55 checksum in a list of the Chain', () => {
  const mistyped = '0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAeD';
  const right = `0x${'ab'.repeat(20)}`;

  test.each(['delegates', 'accountFactories', 'accountModules'] as const)(
    'of a new entry of %s is not accepted: it is left out, and everything else is served',
    (list) => {
      const chain = aChain({ [list]: [right, mistyped] });
      const { accepted, config, checksum } = compile(chain);
      expect(accepted).toMatchObject({
        status: 'False',
        reason: 'BadChecksum',
        message: expect.stringMatching(new RegExp(`^spec\\.${list}\\[1\\] must be .*EIP-55.*"${mistyped}"`)),
      });
      expect(checksum).toBeUndefined();
      expect(config[list]).toEqual([parseAddress(right)]);
      expect(config.profiles).toHaveLength(1);
      // Nothing that was refused is in use the next time.
      const again = compileChain({ chain, feeTokens: [], layouts: someLayouts, previous: config });
      expect(again.accepted.reason).toBe('BadChecksum');
      expect(again.config).toEqual(config);
    },
  );

  test.each(['delegates', 'accountFactories', 'accountModules'] as const)(
    'of an entry of %s that is in use is a warning',
    (list) => {
      const previous = compile(aChain({ [list]: [mistyped.toLowerCase()] })).config;
      const chain = aChain({ [list]: [mistyped] });
      const after = compileChain({ chain, feeTokens: [], layouts: someLayouts, previous });
      expect(after.config).toEqual(previous);
      expect(after.accepted.status).toBe('True');
      expect(after.checksum).toMatchObject({ type: 'AddressChecksum', reason: 'Wrong' });
    },
  );

  test('is told beside a profile that is wrong in another way', () => {
    const profiles = [{ ...aProfile, layout: 'vendor-9' }] as never;
    const { accepted } = compile(aChain({ profiles, delegates: [mistyped] }));
    expect(accepted).toMatchObject({
      reason: 'Invalid',
      message: expect.stringMatching(/layout must be one of .* spec\.delegates\[0\] must be/),
    });
  });
});

describe('a wrong EIP-55 checksum of a price feed', () => {
  const mistyped = '0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAeD';
  const other = `0x${'cd'.repeat(20)}`;
  const prices = [
    { field: 'chainlink.nativeFeed', price: (feed: string) => ({ chainlink: { nativeFeed: feed } }) },
    {
      field: 'chainlink.tokenFeed',
      price: (feed: string) => ({ chainlink: { nativeFeed: other, tokenFeed: feed } }),
    },
    {
      field: 'combine.sources[1].chainlink.nativeFeed',
      price: (feed: string) => ({
        combine: { sources: [{ static: { rate: '1' } }, { chainlink: { nativeFeed: feed } }] },
      }),
    },
  ];

  test.each(prices)('in $field leaves a new token out', ({ field, price }) => {
    const { feeTokens, config } = compile(aChain(), [aFeeToken({ price: price(mistyped) })]);
    expect(feeTokens[0]?.accepted).toMatchObject({ reason: 'BadChecksum' });
    expect(feeTokens[0]?.accepted.message).toContain(`spec.price.${field} must be an address whose`);
    expect(config.feeTokens).toEqual([]);
  });

  test.each(prices)('in $field of a token that is served with it is a warning', ({ price }) => {
    const before = compile(aChain(), [aFeeToken({ price: price(mistyped.toLowerCase()) })]).config;
    const compiledWith = (feed: string) =>
      compileChain({
        chain: aChain(),
        feeTokens: [aFeeToken({ price: price(feed) })],
        layouts: someLayouts,
        previous: before,
      }).feeTokens[0];
    expect(compiledWith(mistyped)).toMatchObject({
      accepted: { status: 'True' },
      checksum: { type: 'AddressChecksum', reason: 'Wrong' },
    });
    expect(compiledWith('0x6B175474E89094C44Da98b954EedeAC495271d0F')?.accepted.status).toBe('True');
    expect(compiledWith('0x6b175474E89094C44Da98b954EedeAC495271d0F')?.accepted.reason).toBe('BadChecksum');
  });

  test('of the coin leaves the price out, and is a warning where it is served', () => {
    const priced = (feed: string) => aChain({ nativePrice: { chainlink: { nativeFeed: feed } } });
    const { config, accepted } = compile(priced(mistyped));
    expect(accepted).toMatchObject({ status: 'False', reason: 'BadChecksum' });
    expect(accepted.message).toContain('spec.nativePrice.chainlink.nativeFeed must be an address whose');
    expect(config.nativePrice).toBeUndefined();
    const before = compile(priced(mistyped.toLowerCase())).config;
    const after = compileChain({
      chain: priced(mistyped),
      feeTokens: [],
      layouts: someLayouts,
      previous: before,
    });
    expect(after).toMatchObject({
      accepted: { status: 'True' },
      checksum: { type: 'AddressChecksum' },
      config: { nativePrice: { chainlink: { nativeFeed: mistyped } } },
    });
  });
});

describe('a profile is left out, and the others served,', () => {
  const bad = { ...aProfile, version: 'bad' };
  test.each<{ name: string; profile: object; message: string }>([
    {
      name: 'when its layout is unknown',
      profile: { layout: 'vendor-9' },
      message: 'layout must be one of vendor-1.1.0, vendor-2.x',
    },
    {
      name: 'when its EntryPoint is of another version than its layout',
      profile: { entryPoint: '0x0000000071727De22E5E9d8BAf0edAc6f37da032' },
      message: 'EntryPoint of version 0.7, but layout vendor-1.1.0 is for 0.6',
    },
    {
      name: 'when its contract is not an address',
      profile: { addresses: { sponsorship: '0x1' } },
      message: 'addresses.sponsorship must be',
    },
    {
      name: 'when its contract is the zero address',
      profile: { addresses: { sponsorship: `0x${'0'.repeat(40)}` } },
      message: 'must not be the zero address',
    },
    {
      name: 'when it names a token contract for a layout without mode ERC20',
      profile: {
        layout: 'verifying-0.7',
        entryPoint: '0x0000000071727De22E5E9d8BAf0edAc6f37da032',
        addresses: { sponsorship: `0x${'1'.repeat(40)}`, token: `0x${'1'.repeat(40)}` },
      },
      message: 'addresses.token must be absent',
    },
    {
      name: 'when its data names who receives the tokens, and nobody is named',
      profile: {
        layout: 'singleton-0.7',
        entryPoint: '0x0000000071727De22E5E9d8BAf0edAc6f37da032',
        addresses: { sponsorship: `0x${'1'.repeat(40)}`, token: `0x${'1'.repeat(40)}` },
      },
      message: 'options.treasury must be given with addresses.token',
    },
    {
      name: 'when it has a budget for losses of a mode that it does not have',
      profile: { tokenLossBudget: '1' },
      message: 'tokenLossBudget must be absent',
    },
    { name: 'when its version is given twice', profile: { version: '1.1.0' }, message: 'given twice' },
  ])('$name', ({ profile, message }) => {
    const profiles: ProfileSpec[] = [aProfile, { ...bad, ...profile }];
    const compiled = compile(aChain({ profiles }));
    expect(compiled.config.profiles.map(({ version }) => version)).toEqual(['1.1.0']);
    expect(compiled.profiles[1]?.accepted).toMatchObject({
      status: 'False',
      message: expect.stringContaining(message),
    });
    expect(compiled.accepted.message).toContain(message);
  });
});

test('an EntryPoint at a non-standard address is accepted for any layout', () => {
  const compiled = compile(aChain({ profiles: [{ ...aProfile, entryPoint: `0x${'5'.repeat(40)}` }] }));
  expect(compiled.accepted.status).toBe('True');
});

test('of two fee tokens with one address the oldest is served', () => {
  const late = aFeeToken({
    meta: { name: 'late', creationTimestamp: '2026-05-01T00:00:00Z' },
    symbol: 'LATE',
  });
  const compiled = compile(aChain(), [late, aFeeToken()]);
  expect(compiled.config.feeTokens.map(({ symbol }) => symbol)).toEqual(['USD']);
  expect(compiled.feeTokens.map(({ accepted }) => accepted.reason)).toEqual(['Accepted', 'NameConflict']);
});
