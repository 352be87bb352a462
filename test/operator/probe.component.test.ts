import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { getBytes } from 'ethers';
import { compileChain } from '../../core/config/compile-chain.js';
import type { ProfileConfig } from '../../core/config/chain-config.js';
import { DomainError } from '../../core/errors.js';
import { layouts } from '../../core/paymaster/layouts.js';
import { layoutIds as knownLayoutIds } from '../../core/paymaster/layout.js';
import type { Chain } from '../../core/chain/chain.js';
import { parseAddress } from '../../core/units/address.js';
import { systemClock } from '../../core/units/time.js';
import { createProbe } from '../../operator/facts/probe.js';
import type { Probe } from '../../operator/facts/probe.js';
import { aChain } from '../build/resources.js';
import { sendAs } from '../chain/support/send-as.js';
import { startDevChain } from '../chain/support/dev-chain.js';
import { approval } from '../chain/support/tokens.js';
import type { DevChain } from '../chain/support/dev-chain.js';
import { signsBy } from '../build/signing.js';

/** The probe against deployed contracts: ours and third parties', one per layout. */
let dev: DevChain;
let profiles: readonly ProfileConfig[];
beforeAll(async () => {
  dev = await startDevChain();
  const { config, accepted } = compileChain({
    chain: aChain({
      profiles: dev.deployments.profiles.map(
        ({ version, layout, entryPoint, sponsorship, token, options }) => ({
          version,
          layout,
          entryPoint,
          addresses: { sponsorship, ...(token === undefined ? {} : { token }) },
          signer: { file: 'dev' },
          options,
        }),
      ),
    }),
    feeTokens: [],
    layouts,
    previous: undefined,
  });
  expect(accepted.status).toBe('True');
  profiles = config.profiles;
});
afterAll(() => dev.stop());

function aProbe(overrides: { chain?: Chain; signer?: string | undefined } = {}): Probe {
  const address = parseAddress(overrides.signer ?? dev.sponsorSigner.address);
  return createProbe({
    chain: overrides.chain ?? dev.chain,
    config: { chainId: dev.chainId },
    layouts,
    signers: { get: () => ({ address, implementation: 'test', sign: signsBy(signed) }) },
    clock: systemClock,
  });
}

function signed(digest: Uint8Array): Uint8Array {
  return getBytes(dev.sponsorSigner.signingKey.sign(digest).serialized);
}

// The dev chain has no contract of OpenZeppelin.
const layoutIds = knownLayoutIds.filter((id) => !id.startsWith('openzeppelin'));

const good = {
  code: 'CodePresent',
  entryPoint: 'EntryPointMatches',
  hash: 'HashMatches',
  signer: 'Authorized',
  signers: { dev: 'Authorized' },
  tokens: 'Secured',
  unsigned: 'Unknown',
  deposit: 'Deposited',
  stake: 'Staked',
  codeHash: expect.stringMatching(/^0x[0-9a-f]{64}$/),
};
/** The dev chain stakes every contract but that which reads none of its storage in validation. */
const stakeOf = (layout: string) => (layout === 'verifying-0.7' ? 'Unstaked' : 'Staked');
/** Nothing that the dev chain has not deployed for has a deposit or a stake. */
const notHeld = { deposit: 'Empty', stake: 'Unstaked', codeHash: good.codeHash };
/** Contracts of the singleton layouts take tokens in validation only where the platform wants it; the last one takes none. */
const tokensOf = (layout: string) =>
  layout.startsWith('vendor-') || layout.startsWith('hybrid-')
    ? 'Secured'
    : layout.startsWith('singleton-')
      ? 'AfterCall'
      : 'Unknown';
/** Only the layout vendor 2.x stands for contracts that accept data without a signature; ours is not one of them. */
const unsignedOf = (layout: string) => (layout === 'vendor-2.x' ? 'Refused' : 'Unknown');

function profileOf(layout: string): ProfileConfig {
  const profile = profiles.find((each) => each.layout === layout);
  if (profile === undefined) throw new Error(`the dev chain has no contract of layout ${layout}`);
  return profile;
}

describe('a deployed contract', () => {
  test.each(layoutIds)('of layout %s passes every check', async (layout) => {
    expect(await aProbe().profile(profileOf(layout))).toEqual({
      ...good,
      tokens: tokensOf(layout),
      unsigned: unsignedOf(layout),
      stake: stakeOf(layout),
    });
  });

  test.each(layoutIds)('of layout %s does not accept a stranger as signer', async (layout) => {
    const stranger = '0x70997970C51812dc3A010C7d01b50e0d17dc79C8';
    expect(await aProbe({ signer: stranger }).profile(profileOf(layout))).toEqual({
      ...good,
      signer: 'NotAuthorized',
      signers: { dev: 'NotAuthorized' },
      tokens: tokensOf(layout),
      unsigned: unsignedOf(layout),
      stake: stakeOf(layout),
    });
  });

  test.each(layoutIds)('of layout %s names its own EntryPoint, not another', async (layout) => {
    const profile = profileOf(layout);
    const other = Object.values(dev.deployments.entryPoints).find(
      (address) => address !== profile.entryPoint,
    );
    expect(await aProbe().profile({ ...profile, entryPoint: other ?? profile.entryPoint })).toMatchObject({
      entryPoint: 'OtherEntryPoint',
    });
  });

  // These hash alike; their EntryPoints tell them apart.
  const alike = new Set([
    'singleton-0.7 singleton-0.8',
    'singleton-0.8 singleton-0.7',
    'verifying-0.7 verifying-0.9',
    'verifying-0.9 verifying-0.7',
  ]);
  const pairs = layoutIds.flatMap((real) => layoutIds.map((said) => ({ real, said })));
  test.each(pairs.filter(({ real, said }) => real !== said && !alike.has(`${real} ${said}`)))(
    'of layout $real does not pass for one of $said',
    async ({ real, said }) => {
      const profile = { ...profileOf(real), layout: said, options: profileOf(said).options };
      expect((await aProbe().profile(profile)).hash).toBe('OtherHash');
    },
  );
});

test('an address without code is reported, and the probe calls it no further', async () => {
  const profile = { ...profileOf('vendor-1.1.0'), sponsorship: parseAddress(`0x${'ab'.repeat(20)}`) };
  expect(await aProbe().profile(profile)).toEqual({
    code: 'NoCode',
    entryPoint: 'Unknown',
    hash: 'Unknown',
    signer: 'Unknown',
    signers: { dev: 'Unknown' },
    tokens: 'Unknown',
    unsigned: 'Unknown',
    deposit: 'Unknown',
    stake: 'Unknown',
  });
  expect(await aProbe().code(profile.sponsorship)).toBe('NoCode');
  expect(await aProbe().code(profile.entryPoint)).toBe('CodePresent');
});

test('a foreign contract fails every check', async () => {
  const profile = { ...profileOf('vendor-1.1.0'), sponsorship: dev.deployments.feeToken.address };
  expect(await aProbe().profile(profile)).toEqual({
    code: 'CodePresent',
    entryPoint: 'OtherEntryPoint',
    hash: 'OtherHash',
    signer: 'NotAuthorized',
    signers: { dev: 'NotAuthorized' },
    tokens: 'Secured',
    unsigned: 'Unknown',
    ...notHeld,
  });
});

describe('a token contract at another address', () => {
  test('is probed as well as the one that sponsors', async () => {
    const profile = profileOf('vendor-1.1.0');
    expect(await aProbe().profile(profile)).toEqual(good);
    expect(await aProbe().profile({ ...profile, token: dev.deployments.feeToken.address })).toEqual({
      code: 'CodePresent',
      entryPoint: 'OtherEntryPoint',
      hash: 'OtherHash',
      signer: 'NotAuthorized',
      signers: { dev: 'NotAuthorized' },
      tokens: 'AfterCall',
      unsigned: 'Unknown',
      ...notHeld,
    });
  });

  test('of another EntryPoint and layout is reported', async () => {
    expect(
      await aProbe().profile({ ...profileOf('vendor-1.1.0'), token: profileOf('vendor-2.x').sponsorship }),
    ).toEqual({ ...good, entryPoint: 'OtherEntryPoint', hash: 'OtherHash', tokens: 'AfterCall', ...notHeld });
  });

  test('without code is reported as such', async () => {
    const token = parseAddress(`0x${'ab'.repeat(20)}`);
    expect((await aProbe().profile({ ...profileOf('vendor-1.1.0'), token })).code).toBe('NoCode');
  });
});

describe('the hash of the code', () => {
  const place = parseAddress(`0x${'1d'.repeat(20)}`);
  const slots = {
    implementation: '0x360894a13ba1a3210667c828492db98dca3e2076cc3735a920a3ca505d382bbc',
    beacon: '0xa3f0ad74e5423aebfd80d3ef4346578335a9a72aeaee59ff6cb3582b35133d50',
  };
  const put = (address: string, code: string) => dev.chain.request('anvil_setCode', [address, code]);
  const point = (slot: string, to: string) =>
    dev.chain.request('anvil_setStorageAt', [place, slot, `0x${to.slice(2).padStart(64, '0')}`]);
  const hash = async () => {
    const facts = await aProbe().profile({ ...profileOf('verifying-0.7'), sponsorship: place });
    return facts.codeHash;
  };

  test('is that of the code at the address', async () => {
    await put(place, '0x6001');
    const first = await hash();
    await put(place, '0x6002');
    expect(await hash()).not.toBe(first);
    await put(place, '0x6001');
    expect(await hash()).toBe(first);
  });

  test('tells which code a proxy runs, at an address that it stores or by a beacon', async () => {
    const [one, two] = [`0x${'2d'.repeat(20)}`, `0x${'3d'.repeat(20)}`];
    await put(one, '0x6001');
    await put(two, '0x6002');
    // A proxy has the slot in its code, as the operand of a PUSH32.
    await put(place, `0x7f${slots.implementation.slice(2)}`);
    await point(slots.implementation, one);
    const first = await hash();
    await point(slots.implementation, two);
    const second = await hash();
    expect(second).not.toBe(first);
    await put(two, '0x6003');
    expect(await hash()).not.toBe(second);

    const beacon = `0x${'4d'.repeat(20)}`;
    // Answers the address to whatever it is asked.
    const answering = (address: string) => `0x73${address.slice(2)}60005260206000f3`;
    await put(place, `0x7f${slots.beacon.slice(2)}`);
    await point(slots.beacon, beacon);
    await put(beacon, answering(one));
    const third = await hash();
    await put(beacon, answering(two));
    expect(await hash()).not.toBe(third);
    // A beacon that answers nothing names no code.
    await put(beacon, '0x60006000fd');
    expect(await hash()).toMatch(/^0x/);
  });
});

describe('whether a token contract accepts data that nobody signed', () => {
  const token = parseAddress(`0x${'5a'.repeat(20)}`);
  const asked = async (code: string) => {
    await dev.chain.request('anvil_setCode', [token, code]);
    return (await aProbe().profile({ ...profileOf('vendor-2.x'), token })).unsigned;
  };

  test('is what its validation says', async () => {
    // (bytes context, uint256 validationData): empty and 0.
    expect(await asked('0x604060005260606000f3')).toBe('Accepted');
    // validationData 1: the signature is wrong.
    expect(await asked('0x6040600052600160205260606000f3')).toBe('Refused');
    expect(await asked('0x60006000fd')).toBe('Refused');
  });

  test('is not known while the chain does not answer', async () => {
    const down = { ...dev.chain, call: () => Promise.reject(new DomainError('UNAVAILABLE', 'down')) };
    const facts = await aProbe({ chain: down as Chain }).profile(profileOf('vendor-2.x'));
    expect(facts.unsigned).toBe('Unknown');
  });
});

describe('whether profiles can be used', () => {
  test('is answered for all of them together as for each alone, the bad ones included', async () => {
    const head = await aProbe().head();
    if (head === undefined) throw new Error('the chain has a block');
    const first = profileOf('vendor-1.1.0');
    const asked: readonly ProfileConfig[] = [
      ...profiles,
      { ...first, sponsorship: parseAddress(`0x${'ab'.repeat(20)}`) },
      { ...first, entryPoint: parseAddress(`0x${'ab'.repeat(20)}`) },
      { ...first, sponsorship: dev.deployments.feeToken.address },
      { ...first, token: profileOf('vendor-2.x').sponsorship },
    ];
    const block = { hash: head.hash };
    const alone = await Promise.all(asked.map((profile) => aProbe().profile(profile, block)));
    const wanted = alone.map(({ code, entryPoint, signer, signers }) => ({ code, entryPoint, signer, signers })); // prettier-ignore
    expect(wanted.map(({ code }) => code)).toContain('NoCode');
    expect(await aProbe().acceptances(asked, block)).toEqual(wanted);
  });

  test('is asked question by question where one call for all gives no words', async () => {
    const head = await aProbe().head();
    if (head === undefined) throw new Error('the chain has a block');
    // As with a node that gives the call too little gas.
    const chain: Chain = { ...dev.chain, words: (calls) => Promise.resolve(calls.map(() => undefined)) };
    const block = { hash: head.hash };
    expect(await aProbe({ chain }).acceptances(profiles, block)).toEqual(
      await aProbe().acceptances(profiles, block),
    );
  });
});

describe('a deposit', () => {
  test('of the default funding wallet is read where contracts keep one per wallet', async () => {
    const wallet = dev.deployments.defaultFunding;
    expect((await aProbe().deposits([{ profile: profileOf('vendor-1.1.0'), wallet }]))[0]).toBeGreaterThan(
      0n,
    );
    expect((await aProbe().deposits([{ profile: profileOf('vendor-2.x'), wallet }]))[0]).toBeGreaterThan(0n);
  });

  test('of a wallet that never deposited is empty', async () => {
    const wallet = parseAddress(`0x${'cd'.repeat(20)}`);
    expect((await aProbe().deposits([{ profile: profileOf('vendor-1.1.0'), wallet }]))[0]).toBe(0n);
  });

  test('of the contract itself counts where it keeps one for all', async () => {
    expect((await aProbe().deposits([{ profile: profileOf('verifying-0.7') }]))[0]).toBeGreaterThan(0n);
  });
});

test('a chain that does not answer makes every answer unknown, and another chain id is reported', async () => {
  const down = (): Promise<never> => Promise.reject(new DomainError('UNAVAILABLE', 'down'));
  const chain: Chain = { ...dev.chain, chainId: down, call: down, words: down, code: down };
  const profile = profileOf('vendor-1.1.0');
  expect(await aProbe({ chain }).reachability()).toBe('Unreachable');
  expect((await aProbe({ chain }).profile(profile)).code).toBe('Unknown');
  expect((await aProbe({ chain }).deposits([{ profile, wallet: profile.sponsorship }]))[0]).toBeUndefined();
  expect(await aProbe().reachability()).toBe('Reachable');
  const head = await aProbe().head();
  if (head === undefined) throw new Error('the chain has a block');
  expect(aProbe().clock(head)).toBe('InStep');
  expect(await aProbe({ chain: { ...dev.chain, block: down } }).head()).toBeUndefined();
  const elsewhere = createProbe({
    chain: dev.chain,
    config: { chainId: 1 },
    layouts,
    signers: { get: () => undefined },
    clock: systemClock,
  });
  expect(await elsewhere.reachability()).toBe('WrongChain');
  expect((await elsewhere.profile(profile)).signer).toBe('SignerNotFound');
});

describe('a singleton contract that takes tokens in advance', () => {
  const asked = (): Probe =>
    createProbe({
      chain: dev.chain,
      config: {
        chainId: dev.chainId,
        feeTokens: [{ chainId: dev.chainId, ...dev.deployments.feeToken, price: { static: { rate: '1' } } }],
      },
      layouts,
      signers: {
        get: () => ({
          address: parseAddress(dev.sponsorSigner.address),
          implementation: 'test',
          sign: signsBy(signed),
        }),
      },
      clock: systemClock,
    });

  test('needs an allowance of the treasury for refunds', async () => {
    const profile: ProfileConfig = { ...profileOf('singleton-0.7'), tokenPayment: 'preFund' };
    expect((await asked().profile(profile)).tokens).toBe('NoRefunds');
    const { treasury, feeToken } = dev.deployments;
    await sendAs(dev, treasury, approval(feeToken.address, dev.profile('singleton-0.7'), 1n));
    expect((await asked().profile(profile)).tokens).toBe('Secured');
  });
});
