import { describe, expect, test } from '@jest/globals';
import { Wallet } from 'ethers';
import { deriveApiKey, hashCredential } from '../../../core/config/api-key.js';
import { compilePaymaster, holdsItsName } from '../../../core/config/compile.js';
import type { CompiledPaymaster } from '../../../core/config/compile.js';
import type { PaymasterSources } from '../../../core/config/sources.js';
import { fundingMessage } from '../../../core/config/funding.js';
import { derivePaymasterId, derivePolicyId } from '../../../core/config/ids.js';
import { parseAddress } from '../../../core/units/address.js';
import type { PaymasterPolicy } from '../../../core/resources/paymaster-policy.js';
import { formatInstant } from '../../../core/units/time.js';
import type { EpochMs } from '../../../core/units/time.js';
import {
  aLimit,
  aPaymaster,
  aPolicy,
  aProfile,
  aSmartContract,
  anOrganisation,
} from '../../build/resources.js';
import { aChainConfig } from '../../build/configs.js';
import { someNow, someSources } from '../../build/sources.js';

const compile = (overrides: Partial<PaymasterSources> = {}): CompiledPaymaster =>
  compilePaymaster(someSources(overrides));
const younger = { creationTimestamp: '2026-01-02T12:00:00.000Z' };

describe('a paymaster that has all it needs', () => {
  const compiled = compile({
    contracts: [aSmartContract()],
    policies: [
      aPolicy(),
      aPolicy({
        meta: { name: 'shop-hook', ...younger },
        name: 'Hook',
        policyType: 'WEBHOOK',
        webhook: { url: 'https://rules.example/check' },
      }),
      aPolicy({
        meta: { name: 'shop-deploy' },
        name: 'Deploy',
        policyType: 'WALLET_DEPLOYMENT',
        walletDeployment: {},
      }),
    ],
  });

  test('is accepted, resolved and programmed', () => {
    const { accepted, resolved, programmed } = compiled;
    expect([accepted, resolved, programmed].map(({ type, status }) => `${type}=${status}`)).toEqual([
      'Accepted=True',
      'ResolvedRefs=True',
      'Programmed=True',
    ]);
  });

  test('is served with its contracts and policies, and without any secret', () => {
    const id = derivePaymasterId('acme', 'shop');
    const apiKey = deriveApiKey(new Uint8Array(32).fill(1), {
      namespace: 'acme',
      name: 'shop',
      keyGeneration: 1,
    });
    expect(compiled.config).toEqual({
      paymasterId: id,
      namespace: 'acme',
      objectName: 'shop',
      name: 'Shop',
      chainId: 31337,
      version: '1.1.0',
      configGeneration: 0,
      suspended: false,
      keys: [{ sha256: hashCredential(apiKey) }],
      tokens: [],
      defaultContractAction: 'Allow',
      contractsRegistered: true,
      contracts: [
        { name: 'NFT', address: '0x00000000000000000000000000000000000000C1', selectors: ['0x42966c68'] },
      ],
      limits: [
        {
          policyId: derivePolicyId('acme', 'shop-limit'),
          name: 'Daily',
          scope: 'PAYMASTER',
          thresholdType: 'COUNT',
          threshold: '10',
          startMs: someNow,
          durationMs: 86_400_000,
        },
      ],
      webhooks: [
        {
          policyId: derivePolicyId('acme', 'shop-hook'),
          name: 'Hook',
          url: 'https://rules.example/check',
          method: 'POST',
          onError: 'Deny',
        },
      ],
      walletDeployment: true,
      invalidPolicies: [],
      gas: {},
      maxExpirySeconds: 600,
    });
    expect(JSON.stringify(compiled.config)).not.toContain(apiKey);
  });

  test('shows id, addresses, fingerprint and counts in its status', () => {
    expect(compiled.status).toEqual({
      paymasterId: compiled.config.paymasterId,
      address: '0x00000f79B7FaF42EEBAdbA19aCc07cD08Af44789',
      apiKeyFingerprint: compiled.config.keys[0]?.sha256.slice(0, 8),
      contracts: 1,
      policies: 3,
    });
  });

  test('compiles equally from its sources in any order', () => {
    const contracts = [
      aSmartContract(),
      aSmartContract({ meta: { name: 'b', ...younger }, name: 'B', address: `0x${'2'.repeat(40)}` }),
    ];
    const policies = [aPolicy(), aPolicy({ meta: { name: 'p', ...younger }, name: 'P' })];
    const reversed = { contracts: [...contracts].reverse(), policies: [...policies].reverse() };
    expect(compile(reversed).config).toEqual(compile({ contracts, policies }).config);
  });

  test('is served with the sponsor that wallets show', () => {
    const sponsor = { name: 'My Shop', icon: 'data:image/png;base64,iVBORw0KGgo=' };
    expect(compile({ paymaster: aPaymaster({ sponsor }) }).config).toMatchObject({ sponsor });
    expect(compiled.config).not.toHaveProperty('sponsor');
  });
});

describe('a paymaster may not be served', () => {
  const owner = new Wallet(`0x${'11'.repeat(32)}`);
  test.each<{ name: string; sources: Partial<PaymasterSources>; reason: string; message: string }>([
    {
      name: 'in a namespace without Organisation',
      sources: { organisation: undefined },
      reason: 'NoOrganisation',
      message: 'No Organisation has spec.namespace "acme"',
    },
    {
      name: 'on a chain that nobody offers',
      sources: { chain: undefined, offeredChains: [1, 137] },
      reason: 'ChainNotFound',
      message: 'No Chain with chainId 31337 is offered; offered: 1, 137.',
    },
    {
      name: 'with a version that the chain lacks',
      sources: { paymaster: aPaymaster({ version: '9.9.9' }) },
      reason: 'VersionNotFound',
      message: 'Chain 31337 has no version "9.9.9"; offered: 1.1.0.',
    },
    {
      name: 'with a demand for the signature of the account that its contract cannot meet',
      sources: { paymaster: aPaymaster({ requireAccountSignature: true }) },
      reason: 'AccountSignatureUnsupported',
      message: 'Version "1.1.0" cannot demand the account\'s signature',
    },
    {
      name: 'on a chain that its Organisation may not use',
      sources: { organisation: anOrganisation({ chains: [1] }) },
      reason: 'ChainNotAllowed',
      message: 'may use the chains 1, not 31337',
    },
    {
      name: 'under a name that an older one holds',
      sources: {
        paymaster: aPaymaster({ meta: younger }),
        siblings: [aPaymaster({ meta: younger }), aPaymaster({ meta: { name: 'first' } })],
      },
      reason: 'NameConflict',
      message: 'Paymaster first has the name "Shop" on chain 31337',
    },
    {
      name: 'under a name that a younger one holds already',
      sources: {
        siblings: [aPaymaster(), aPaymaster({ meta: { name: 'late', ...younger } })],
        programmed: new Set(['late']),
      },
      reason: 'NameConflict',
      message: 'Paymaster late has the name',
    },
    {
      name: 'over the quota of paymasters',
      sources: {
        paymaster: aPaymaster({ meta: younger }),
        siblings: [aPaymaster({ meta: younger }), aPaymaster({ meta: { name: 'first' }, name: 'First' })],
        organisation: anOrganisation({ quotas: { paymasters: 1 } }),
      },
      reason: 'QuotaExceeded',
      message: 'Only 1 paymasters are allowed by spec.quotas.paymasters of Organisation acme',
    },
    {
      name: 'over the quota that the platform sets for all',
      sources: {
        paymaster: aPaymaster({ meta: younger }),
        siblings: [aPaymaster({ meta: younger }), aPaymaster({ meta: { name: 'first' }, name: 'First' })],
        platform: { quotas: { paymasters: 1 }, defaultContractAction: 'Allow' },
      },
      reason: 'QuotaExceeded',
      message: "Only 1 paymasters are allowed by the platform's default for quotas.paymasters",
    },
    {
      name: 'with a funding wallet whose checksum is wrong',
      sources: {
        paymaster: aPaymaster({ funding: { address: '0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAeD' } }),
      },
      reason: 'BadChecksum',
      message: 'spec.funding.address must be an address whose upper and lower case is its EIP-55 checksum',
    },
    {
      name: 'with a factory whose checksum is wrong',
      sources: {
        paymaster: aPaymaster({ accountFactories: ['0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAeD'] }),
      },
      reason: 'BadChecksum',
      message:
        'spec.accountFactories[0] must be an address whose upper and lower case is its EIP-55 checksum',
    },
    {
      name: 'with a funding wallet that the platform lists with a wrong checksum',
      sources: {
        organisation: anOrganisation({ fundingAddresses: ['0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAeD'] }),
        paymaster: aPaymaster({ funding: { address: '0x5aaeb6053f3e94c9b9a09f33669435e7ef1beaed' } }),
      },
      reason: 'FundingNotProven',
      message: 'list the address in fundingAddresses',
    },
    {
      name: 'with a funding wallet that proved nothing',
      sources: { paymaster: aPaymaster({ funding: { address: owner.address } }) },
      reason: 'FundingNotProven',
      message: `Sign the funding message with ${owner.address}`,
    },
    {
      name: 'with a signature over something else',
      sources: {
        paymaster: aPaymaster({
          funding: { address: owner.address, message: 'hi', signature: owner.signMessageSync('hi') },
        }),
      },
      reason: 'FundingNotProven',
      message: 'the message is not a funding message of this service',
    },
    {
      name: 'with a previousKeyUntil that is not a time',
      sources: { paymaster: aPaymaster({ previousKeyUntil: 'soon' }) },
      reason: 'Invalid',
      message: 'spec.previousKeyUntil',
    },
  ])('$name', ({ sources, reason, message }) => {
    const compiled = compile(sources);
    const refused = [compiled.accepted, compiled.resolved].find(({ status }) => status === 'False');
    expect(refused?.reason).toBe(reason);
    expect(refused?.message).toContain(message);
    expect(compiled.config.notReady).toEqual({ reason, message: refused?.message });
    expect(compiled.programmed).toMatchObject({ status: 'False', reason: 'NotAccepted' });
  });

  describe('for a checksum, and then', () => {
    const mistyped = '0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAeD';
    const lower = mistyped.toLowerCase();
    const warning = { type: 'AddressChecksum', status: 'False', reason: 'Wrong' };

    test.each([
      { name: 'factory', spec: { accountFactories: [mistyped] } },
      { name: 'wallet', spec: { funding: { address: mistyped } } },
    ])('stays so: what was refused, a $name, is not in use the next time', ({ spec }) => {
      const sources = {
        organisation: anOrganisation({ fundingAddresses: [lower] }),
        paymaster: aPaymaster(spec),
      };
      const { config } = compile(sources);
      const again = compile({ ...sources, previous: config });
      expect(again.accepted.reason).toBe('BadChecksum');
      expect(again.config).toEqual(config);
    });

    test('what is in use stays, with a warning', () => {
      const organisation = anOrganisation({ fundingAddresses: [lower] });
      const spec = (address: string) => ({ accountFactories: [address], funding: { address } });
      const previous = compile({ organisation, paymaster: aPaymaster(spec(lower)) }).config;
      for (const sources of [
        { organisation, paymaster: aPaymaster(spec(mistyped)) },
        {
          organisation: anOrganisation({ fundingAddresses: [mistyped] }),
          paymaster: aPaymaster(spec(lower)),
        },
      ])
        expect(compile({ ...sources, previous })).toMatchObject({
          accepted: { status: 'True' },
          config: previous,
        });
      expect(
        compile({ organisation, paymaster: aPaymaster(spec(mistyped)), previous }).checksum,
      ).toMatchObject(warning);
    });
  });

  test('but keeps being served as it was, next to a newcomer that takes its name', () => {
    const siblings = [aPaymaster({ meta: younger }), aPaymaster({ meta: { name: 'new' } })];
    const sources = { paymaster: aPaymaster({ meta: younger }), siblings, programmed: new Set(['shop']) };
    expect(compile(sources).accepted.status).toBe('True');
  });

  test('the loser of a name never counts as its holder', () => {
    const loser = compile({ siblings: [aPaymaster(), aPaymaster({ meta: { name: 'a' } })] });
    expect(loser.accepted.reason).toBe('NameConflict');
    expect(holdsItsName(loser.config)).toBe(false);
    expect(holdsItsName(compile().config)).toBe(true);
    expect(holdsItsName(undefined)).toBe(false);
  });

  test('names are counted per chain', () => {
    const other = aPaymaster({ meta: { name: 'a' }, chainId: 1 });
    expect(compile({ siblings: [aPaymaster(), other] }).accepted.status).toBe('True');
  });
});

describe('a funding wallet is honoured', () => {
  const owner = new Wallet(`0x${'11'.repeat(32)}`);
  const message = fundingMessage({
    chainId: 31337,
    contract: parseAddress(aProfile.addresses.sponsorship),
    namespace: 'acme',
    paymaster: 'shop',
    nonce: 'abcdefgh',
    time: someNow,
  });
  const proven = { address: owner.address.toLowerCase(), message, signature: owner.signMessageSync(message) };

  test('when it signed for exactly this paymaster', () => {
    const compiled = compile({ paymaster: aPaymaster({ funding: proven }) });
    expect(compiled.accepted.status).toBe('True');
    expect(compiled.config.fundingAddress).toBe(owner.address);
  });

  test('never for another paymaster that shows the same signature', () => {
    const paymaster = aPaymaster({ meta: { name: 'thief' }, funding: proven });
    const compiled = compile({ paymaster, siblings: [paymaster] });
    expect(compiled.accepted.reason).toBe('FundingNotProven');
    expect(compiled.config.fundingAddress).toBeUndefined();
  });

  test('when its Organisation lists it, in any case', () => {
    const organisation = anOrganisation({
      fundingAddresses: [owner.address.toUpperCase().replace('0X', '0x')],
    });
    const paymaster = aPaymaster({ funding: { address: owner.address } });
    expect(compile({ organisation, paymaster }).config.fundingAddress).toBe(owner.address);
  });
});

describe('keys', () => {
  const master = { current: new Uint8Array(32).fill(1), previous: new Uint8Array(32).fill(2) };
  const keyOf = (which: Uint8Array, keyGeneration: number): string =>
    hashCredential(deriveApiKey(which, { namespace: 'acme', name: 'shop', keyGeneration }));

  test('of the previous generation work until previousKeyUntil', () => {
    const paymaster = aPaymaster({ keyGeneration: 2, previousKeyUntil: '2026-03-01T00:00:00Z' });
    expect(compile({ paymaster }).config.keys).toEqual([
      { sha256: keyOf(master.current, 2) },
      { sha256: keyOf(master.current, 1), validUntil: Date.parse('2026-03-01T00:00:00Z') },
    ]);
  });

  test('of the previous generation stop at once without previousKeyUntil', () => {
    expect(compile({ paymaster: aPaymaster({ keyGeneration: 2 }) }).config.keys).toEqual([
      { sha256: keyOf(master.current, 2) },
    ]);
  });

  test('of both master keys work while the master key is rotated, the current one first', () => {
    expect(compile({ masterKeys: master }).config.keys).toEqual([
      { sha256: keyOf(master.current, 1) },
      { sha256: keyOf(master.previous, 1) },
    ]);
  });

  test('tokens of the organisation are served with their expiry; one whose expiry cannot be read is not', () => {
    const organisation = anOrganisation({
      tokens: [
        { name: 'ci', sha256: 'a'.repeat(64) },
        { name: 'old', sha256: 'b'.repeat(64), expiresAt: '2026-03-01T00:00:00Z' },
        { name: 'typo', sha256: 'c'.repeat(64), expiresAt: 'tomorrow' },
      ],
    });
    expect(compile({ organisation }).config.tokens).toEqual([
      { sha256: 'a'.repeat(64) },
      { sha256: 'b'.repeat(64), validUntil: Date.parse('2026-03-01T00:00:00Z') },
    ]);
  });
});

describe('contracts', () => {
  test.each([
    { name: 'paused', contract: aSmartContract({ active: false }), accepted: 'True' },
    { name: 'broken', contract: aSmartContract({ abi: 'no json' }), accepted: 'False' },
    {
      name: 'with an unknown method',
      contract: aSmartContract({ whitelistedMethods: ['fly'] }),
      accepted: 'False',
    },
  ])('that are $name sponsor nothing and never open the paymaster', ({ contract, accepted }) => {
    const compiled = compile({ contracts: [contract] });
    expect(compiled.contracts[0]?.accepted.status).toBe(accepted);
    expect(compiled.config).toMatchObject({ contracts: [], contractsRegistered: true });
    expect(compiled.openSponsorship).toMatchObject({ status: 'False', reason: 'ContractsRegistered' });
  });

  test('that are paused are named, so that a refusal can say so; broken ones are not', () => {
    const paused = aSmartContract({ active: false });
    expect(compile({ contracts: [paused] }).config.pausedContracts).toEqual([
      parseAddress(paused.spec.address),
    ]);
    const broken = aSmartContract({ active: false, abi: 'no json' });
    expect(compile({ contracts: [broken] }).config).not.toHaveProperty('pausedContracts');
    expect(compile({ contracts: [aSmartContract()] }).config).not.toHaveProperty('pausedContracts');
  });

  test('with an unknown method name it and those that exist', () => {
    const compiled = compile({ contracts: [aSmartContract({ whitelistedMethods: ['fly'] })] });
    expect(compiled.contracts[0]?.accepted.message).toBe(
      'spec.whitelistedMethods[0] must be a method of the ABI (mint, burn), got "fly".',
    );
    expect(compiled.contracts[0]?.methods).toEqual(['mint', 'burn']);
  });

  test('without whitelistedMethods are registered and nothing of them is sponsored', () => {
    const { whitelistedMethods: _, ...spec } = aSmartContract().spec;
    const compiled = compile({ contracts: [{ ...aSmartContract(), spec }] });
    expect(compiled.config.contracts).toEqual([expect.objectContaining({ name: 'NFT', selectors: [] })]);
  });

  test.each([
    {
      name: 'an address',
      other: { name: 'Other', address: '0x00000000000000000000000000000000000000C1' },
      what: 'address',
    },
    { name: 'a name', other: { address: `0x${'2'.repeat(40)}` }, what: 'name "NFT"' },
  ])('that share $name: the oldest has it, the other says so', ({ other, what }) => {
    const late = aSmartContract({ meta: { name: 'late', ...younger }, ...other });
    const compiled = compile({ contracts: [late, aSmartContract()] });
    expect(compiled.config.contracts.map(({ name }) => name)).toEqual(['NFT']);
    const loser = compiled.contracts.find(({ object }) => object === late);
    expect(loser?.accepted).toMatchObject({ reason: 'NameConflict', message: expect.stringContaining(what) });
  });

  test('that are wrong by themselves hold neither name nor address, and hide the mistake of no other', () => {
    const broken = aSmartContract({ whitelistedMethods: ['fly'] });
    const sound = aSmartContract({ meta: { name: 'late', ...younger } });
    const alsoBroken = aSmartContract({ meta: { name: 'later', ...younger }, whitelistedMethods: ['swim'] });
    const compiled = compile({ contracts: [broken, alsoBroken, sound] });
    expect(compiled.contracts.map(({ object, accepted }) => [object.metadata.name, accepted.reason])).toEqual(
      [
        ['shop-nft', 'Invalid'],
        ['late', 'Accepted'],
        ['later', 'Invalid'],
      ],
    );
    expect(compiled.contracts[2]?.accepted.message).toContain('"swim"');
    expect(compiled.config.contracts).toHaveLength(1);
  });

  describe('whose address has a wrong checksum', () => {
    const mistyped = '0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAeD';
    const contract = aSmartContract({ address: mistyped });

    test('are not accepted when they are new; in one case an address claims no checksum', () => {
      const compiled = compile({ contracts: [contract] });
      expect(compiled.contracts[0]?.accepted).toMatchObject({
        reason: 'BadChecksum',
        message: expect.stringMatching(
          /^spec\.address must be .*EIP-55.*got "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAeD"\.$/,
        ),
      });
      expect(compiled.config.contracts).toEqual([]);
      for (const address of [mistyped.toLowerCase(), `0x${mistyped.slice(2).toUpperCase()}`])
        expect(compile({ contracts: [aSmartContract({ address })] }).contracts[0]?.accepted.reason).toBe(
          'Accepted',
        );
    });

    test('that was in use before keeps working, with a warning', () => {
      const previous = compile({ contracts: [aSmartContract({ address: mistyped.toLowerCase() })] }).config;
      const compiled = compile({ contracts: [contract], previous });
      expect(compiled.contracts[0]).toMatchObject({
        accepted: { status: 'True' },
        checksum: { type: 'AddressChecksum', status: 'False', reason: 'Wrong' },
      });
      expect(compiled.config.contracts).toEqual(previous.contracts);
    });
  });

  test('that share a name after a change: the one that is served keeps it', () => {
    const served = aSmartContract({ meta: { name: 'late', ...younger } });
    const previous = compile({ contracts: [served] }).config;
    const renamed = aSmartContract({ meta: { name: 'early' }, address: `0x${'2'.repeat(40)}` });
    const compiled = compile({ contracts: [renamed, served], previous });
    expect(compiled.config.contracts).toEqual(previous.contracts);
  });

  test('over the quota are not served, the oldest are', () => {
    const compiled = compile({
      organisation: anOrganisation({ quotas: { contractsPerPaymaster: 1 } }),
      contracts: [
        aSmartContract({ meta: { name: 'b', ...younger }, name: 'B', address: `0x${'2'.repeat(40)}` }),
        aSmartContract(),
      ],
    });
    expect(compiled.contracts.map(({ accepted }) => accepted.reason)).toEqual(['Accepted', 'QuotaExceeded']);
    expect(compiled.config.contracts).toHaveLength(1);
  });

  test.each([
    { action: 'Allow' as const, status: 'True', reason: 'NoContracts' },
    { action: 'Deny' as const, status: 'False', reason: 'Denied' },
  ])('none registered and default $action is OpenSponsorship=$status', ({ action, status, reason }) => {
    const compiled = compile({ paymaster: aPaymaster({ defaultContractAction: action }) });
    expect(compiled.openSponsorship).toMatchObject({ status, reason });
    expect(compiled.config).toMatchObject({ contractsRegistered: false, defaultContractAction: action });
  });
});

describe('policies', () => {
  test.each([
    { name: 'a unit of weeks', change: { cycleDuration: { value: 1, unit: 'week' } } },
    { name: 'a cycle of nothing', change: { cycleDuration: { value: 0, unit: 'day' } } },
    { name: 'half a count', change: { threshold: '1.5' } },
    { name: 'a negative threshold', change: { threshold: '-1' } },
    {
      name: 'an amount finer than wei',
      change: { thresholdType: 'NATIVE_ASSET', threshold: `0.${'1'.repeat(19)}` },
    },
    { name: 'a start that is not a time', change: { startTime: 'noon' } },
  ])('with $name refuse every request until they are corrected', ({ change }) => {
    const broken = aPolicy();
    const policy = {
      ...broken,
      spec: { ...broken.spec, spendingLimit: { ...aLimit, ...change } as typeof aLimit },
    };
    const compiled = compile({ policies: [policy] });
    expect(compiled.policies[0]?.accepted).toMatchObject({ status: 'False', reason: 'Invalid' });
    expect(compiled.config).toMatchObject({ limits: [], invalidPolicies: ['Daily'] });
  });

  describe('with a limit in dollars', () => {
    const dollars = aPolicy({ spendingLimit: { ...aLimit, thresholdType: 'USD', threshold: '12.5' } });
    const price = { static: { rate: '1', usdPerNative: '1' } };

    test('count where the chain knows the price of its coin', () => {
      const compiled = compile({ policies: [dollars], chain: aChainConfig({ nativePrice: price }) });
      expect(compiled.policies[0]?.accepted).toMatchObject({ status: 'True' });
      expect(compiled.config).toMatchObject({ limits: [{ thresholdType: 'USD' }], invalidPolicies: [] });
    });

    test('refuse every request where it does not', () => {
      const compiled = compile({ policies: [dollars] });
      expect(compiled.policies[0]?.accepted).toMatchObject({ status: 'False', reason: 'NoNativePrice' });
      expect(compiled.config).toMatchObject({ limits: [], invalidPolicies: ['Daily'] });
    });

    test('go on counting when the price is taken away, so that each operation is refused until it is back', () => {
      const before = compile({ policies: [dollars], chain: aChainConfig({ nativePrice: price }) });
      const compiled = compile({ policies: [dollars], previous: before.config });
      expect(compiled.policies[0]?.accepted).toMatchObject({ reason: 'NoNativePrice' });
      expect(compiled.config.limits).toEqual(before.config.limits);
    });

    test.each(['1.0000001', '1234567890'])('take no threshold of %s', (threshold) => {
      const spendingLimit = { ...aLimit, thresholdType: 'USD', threshold } as const;
      const compiled = compile({ policies: [aPolicy({ spendingLimit })] });
      expect(compiled.policies[0]?.accepted).toMatchObject({ reason: 'Invalid' });
    });
  });

  test.each(['ftp://x', 'not a url', 'https://user:pw@host/'])(
    'with the webhook %s are not accepted',
    (url) => {
      const compiled = compile({ policies: [aPolicy({ policyType: 'WEBHOOK', webhook: { url } })] });
      expect(compiled.config).toMatchObject({ webhooks: [], invalidPolicies: ['Daily'] });
      expect(compiled.policies[0]?.accepted.message).not.toContain('pw@');
    },
  );

  test('that break keep their last compiled form', () => {
    const previous = compile({ policies: [aPolicy()] }).config;
    const broken = aPolicy({ spendingLimit: { ...aLimit, threshold: 'x' } });
    const compiled = compile({ policies: [broken], previous });
    expect(compiled.policies[0]?.accepted.reason).toBe('Invalid');
    expect(compiled.config.limits).toEqual(previous.limits);
    expect(compiled.config.invalidPolicies).toEqual([]);
  });

  test('that are paused are not served, broken or not', () => {
    const previous = compile({ policies: [aPolicy()] }).config;
    const paused = aPolicy({ active: false });
    const broken = aPolicy({ active: false, spendingLimit: { ...aLimit, threshold: 'x' } });
    for (const policy of [paused, broken])
      expect(compile({ policies: [policy], previous }).config).toMatchObject({
        limits: [],
        invalidPolicies: [],
      });
  });

  test('renamed to a taken name keep their last form, and the holder its name', () => {
    const two = [aPolicy(), aPolicy({ meta: { name: 'b', ...younger }, name: 'B' })];
    const previous = compile({ policies: two }).config;
    const renamed = aPolicy({ meta: { name: 'shop-limit', generation: 2 }, name: 'B' });
    const compiled = compile({ policies: [renamed, two[1] ?? aPolicy()], previous });
    expect(compiled.policies[0]?.accepted).toMatchObject({ reason: 'NameConflict' });
    expect(compiled.config.limits).toEqual(previous.limits);
  });

  test('that never were valid refuse, those next to them still count', () => {
    const compiled = compile({
      policies: [aPolicy(), aPolicy({ meta: { name: 'b' }, name: 'B', policyType: 'WEBHOOK' })],
    });
    expect(compiled.config.limits).toHaveLength(1);
    expect(compiled.config.invalidPolicies).toEqual(['B']);
  });
});

describe('what is too many', () => {
  const limits = (count: number, first = 0): readonly PaymasterPolicy[] =>
    Array.from({ length: count }, (_, index) =>
      aPolicy({
        meta: {
          name: `l${first + index}`,
          creationTimestamp: formatInstant((someNow + first + index) as EpochMs),
        },
        name: `L${first + index}`,
      }),
    );
  const webhooks = (count: number): readonly PaymasterPolicy[] =>
    Array.from({ length: count }, (_, index) =>
      aPolicy({
        meta: { name: `w${index}` },
        name: `W${index}`,
        policyType: 'WEBHOOK',
        webhook: { url: 'https://host.example/' },
      }),
    );

  test('of limits counts the 20 oldest; a later one says so and refuses nothing', () => {
    const compiled = compile({ policies: limits(21).toReversed() });
    expect(compiled.config.limits.map(({ name }) => name)).toEqual(limits(20).map(({ spec }) => spec.name));
    expect(compiled.policies.at(-1)?.accepted).toMatchObject({
      status: 'False',
      reason: 'TooMany',
      message:
        'A paymaster has at most 20 active spending limits, and the oldest count: delete or pause one.',
    });
    expect(compiled.config.invalidPolicies).toEqual([]);
    expect(compiled.config.notReady).toBeUndefined();
  });

  test('of webhooks counts five, of equal age those whose names come first', () => {
    const compiled = compile({ policies: webhooks(7).toReversed() });
    expect(compiled.config.webhooks.map(({ name }) => name)).toEqual(['W0', 'W1', 'W2', 'W3', 'W4']);
    expect(compiled.config.invalidPolicies).toEqual([]);
  });

  test('also of limits that were served before there was such a bound, however broken', () => {
    const broken = limits(1, 20).map((policy) => ({
      ...policy,
      spec: { ...policy.spec, spendingLimit: { ...aLimit, threshold: 'x' } },
    }));
    const served = compile({ policies: limits(1, 20) }).config;
    const compiled = compile({ policies: [...limits(20), ...broken], previous: served });
    expect(compiled.config).toMatchObject({ invalidPolicies: [] });
    expect(compiled.config.limits).toHaveLength(20);
  });

  const withActive = (policies: readonly PaymasterPolicy[], active: boolean): readonly PaymasterPolicy[] =>
    policies.map((policy) => ({ ...policy, spec: { ...policy.spec, active } }));

  test('does not count paused ones, however old they are', () => {
    const compiled = compile({ policies: [...withActive(limits(20), false), ...limits(20, 20)] });
    expect(compiled.config.limits).toHaveLength(20);
    expect(new Set(compiled.policies.map(({ accepted }) => accepted.reason))).toEqual(new Set(['Accepted']));
  });

  test('one that is resumed beyond the number waits, also an old one: it must not put another one out of force', () => {
    const before = compile({ policies: [...withActive(limits(1), false), ...limits(20, 1)] }).config;
    const resumed = compile({ policies: limits(21), previous: before });
    expect(resumed.config.limits).toEqual(before.limits);
    expect(resumed.policies.map(({ accepted }) => accepted.reason)).toEqual([
      'TooMany',
      ...Array.from({ length: 20 }, () => 'Accepted'),
    ]);
    expect(resumed.config.invalidPolicies).toEqual([]);
    const oneLess = compile({ policies: limits(20), previous: resumed.config });
    expect(oneLess.config.limits).toHaveLength(20);
  });

  test('of contracts counts the 1000 oldest; a later one sponsors nothing and is not even read', () => {
    const contracts = Array.from({ length: 1001 }, (_, index) =>
      aSmartContract({
        meta: { name: `c${String(index).padStart(4, '0')}` },
        name: `C${index}`,
        address: `0x${(index + 1).toString(16).padStart(40, '0')}`,
        // Broken, and nobody notices: it was not read.
        ...(index === 1000 ? { abi: 'no JSON' } : {}),
      }),
    );
    const compiled = compile({ contracts });
    expect(compiled.config.contracts).toHaveLength(1000);
    expect(compiled.contracts.at(-1)?.accepted.reason).toBe('TooMany');
    expect(compiled.programmed.status).toBe('True');
  });
});

describe('what happens without contracts is decided by', () => {
  const platform = { quotas: {}, defaultContractAction: 'Deny' as const };
  test.each([
    { name: 'the platform, where nobody else says', own: {}, organisation: {}, want: 'Deny' },
    {
      name: 'the Organisation before the platform',
      own: {},
      organisation: { defaultContractAction: 'Allow' as const },
      want: 'Allow',
    },
    {
      name: 'the Paymaster before both',
      own: { defaultContractAction: 'Deny' as const },
      organisation: { defaultContractAction: 'Allow' as const },
      want: 'Deny',
    },
  ])('$name', ({ own, organisation, want }) => {
    const compiled = compile({
      platform,
      organisation: anOrganisation(organisation),
      paymaster: aPaymaster(own),
    });
    expect(compiled.config.defaultContractAction).toBe(want);
    expect(compiled.openSponsorship.reason).toBe(want === 'Allow' ? 'NoContracts' : 'Denied');
  });

  test('nobody: then it is Allow', () => {
    expect(compile().config.defaultContractAction).toBe('Allow');
  });
});

test('a quota of the platform applies where the Organisation sets none', () => {
  const platform = { quotas: { contractsPerPaymaster: 1 }, defaultContractAction: 'Allow' as const };
  const contracts = [
    aSmartContract(),
    aSmartContract({ meta: { name: 'b', ...younger }, name: 'B', address: `0x${'2'.repeat(40)}` }),
  ];
  expect(compile({ platform, contracts }).config.contracts).toHaveLength(1);
  const organisation = anOrganisation({ quotas: { contractsPerPaymaster: 2 } });
  expect(compile({ platform, organisation, contracts }).config.contracts).toHaveLength(2);
});

test('a suspended paymaster says so in what is served', () => {
  expect(compile({ paymaster: aPaymaster({ suspended: true }) }).config.suspended).toBe(true);
});

test('what is served does not move while time passes', () => {
  const policies = [aPolicy()];
  const first = compile({ policies });
  const later = compile({ policies, previous: first.config, now: (someNow + 5_000_000) as EpochMs });
  expect(later.config).toEqual(first.config);
});
