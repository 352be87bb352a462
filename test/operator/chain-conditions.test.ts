import { afterEach, describe, expect, test } from '@jest/globals';
import { aChain, aPaymaster, aProfile, aSmartContract } from '../build/resources.js';
import type { ChainSpec } from '../../core/resources/chain.js';
import { parseAddress } from '../../core/units/address.js';
import { signerAddress } from './scripted-chain.js';
import { conditionOf, isReady, startWorld } from './world.js';
import type { World } from './world.js';

let world: World;
afterEach(() => world.close());

describe('answers of the chain become conditions', () => {
  const entryPoint = parseAddress(aProfile.entryPoint);
  test.each<{ name: string; break: () => void; fix: () => void; type: string; bad: string; ready: string }>([
    {
      name: 'an empty deposit',
      break: () => world.chain.deposits.set('0x00000000000000000000000000000000000000f1', 0n),
      fix: () => world.chain.deposits.clear(),
      type: 'Funded',
      bad: 'False/Empty',
      ready: 'True/Ready',
    },
    {
      name: 'a signer that the contract does not accept',
      break: () => (world.chain.signer = world.chain.entryPoint),
      fix: () => (world.chain.signer = signerAddress),
      type: 'SignerAuthorized',
      bad: 'False/NotAuthorized',
      ready: 'False/SignerNotAuthorized',
    },
    {
      name: 'a contract that hashes differently',
      break: () => (world.chain.hashesLikeUs = false),
      fix: () => (world.chain.hashesLikeUs = true),
      type: 'Ready',
      bad: 'False/ChainNotReady',
      ready: 'False/ChainNotReady',
    },
    {
      name: 'a contract for another EntryPoint',
      break: () => (world.chain.entryPoint = signerAddress),
      fix: () => (world.chain.entryPoint = entryPoint),
      type: 'Ready',
      bad: 'False/ChainNotReady',
      ready: 'False/ChainNotReady',
    },
    {
      name: 'a contract that is not deployed',
      break: () => world.chain.withoutCode.add(aProfile.addresses.sponsorship.toLowerCase()),
      fix: () => world.chain.withoutCode.clear(),
      type: 'Ready',
      bad: 'False/ChainNotReady',
      ready: 'False/ChainNotReady',
    },
  ])('$name, until it is fixed', async ({ break: breakIt, fix, type, bad, ready }) => {
    world = await startWorld();
    breakIt();
    await world.apply(aPaymaster());
    await world.until(
      'it is seen',
      async () => conditionOf(await world.get('Paymaster', 'shop'), type) === bad,
    );
    expect(conditionOf(await world.get('Paymaster', 'shop'), 'Ready')).toBe(ready);
    fix();
    await world.until('the paymaster is ready', isReady(world));
    await world.until(
      'the chain is ready',
      async () => conditionOf(await world.get('Chain', 'dev'), 'Ready') === 'True/Ready',
    );
  });

  test('whether a deposit is low depends on the recent cost of operations, and does not flap with the fee', async () => {
    world = await startWorld();
    world.chain.deposits.set('0x00000000000000000000000000000000000000f1', 10n ** 15n);
    await world.apply(aPaymaster());
    await world.until('the paymaster is ready', isReady(world));
    const funded = async () => conditionOf(await world.get('Paymaster', 'shop'), 'Funded');
    expect(await funded()).toBe('True/Ok');
    // 100 operations of 300,000 gas cost 0.0015 coins at this fee.
    world.chain.baseFee = 50_000_000n;
    await world.until('it is low', async () => (await funded()) === 'True/Low');
    world.chain.baseFee = 30_000_000n;
    for (let minute = 0; minute < 20; minute += 1) await world.settle();
    expect(await funded()).toBe('True/Low');
    world.chain.baseFee = 10_000_000n;
    await world.until('fees have stayed down', async () => (await funded()) === 'True/Ok');
  });

  const fundedIs = async (want: string): Promise<boolean> =>
    conditionOf(await world.get('Paymaster', 'shop'), 'Funded') === want;
  const wallet = '0x00000000000000000000000000000000000000f1';

  test('a low deposit is reported and the Chain stays ready', async () => {
    world = await startWorld();
    world.chain.baseFee = 1_000n;
    world.chain.deposits.set(wallet, 300_000_000n);
    await world.apply(aPaymaster());
    await world.until('the paymaster is ready', isReady(world));
    await world.until('it is low', () => fundedIs('True/Low'));
  });

  test('a deposit that covers no ordinary operation counts as empty, until it covers two', async () => {
    world = await startWorld();
    world.chain.baseFee = 1_000n;
    world.chain.deposits.set(wallet, 299_999_999n);
    await world.apply(aPaymaster());
    await world.until('it is empty', () => fundedIs('False/Empty'));
    world.chain.deposits.set(wallet, 599_999_999n);
    for (let minute = 0; minute < 5; minute += 1) await world.settle();
    expect(await fundedIs('False/Empty')).toBe(true);
    world.chain.deposits.set(wallet, 600_000_000n);
    await world.until('it is low', () => fundedIs('True/Low'));
  });

  test('the deposit of the contract counts as well, where a wallet inside it pays', async () => {
    world = await startWorld();
    world.chain.deposits.set(aProfile.addresses.sponsorship.toLowerCase(), 0n);
    await world.apply(aPaymaster());
    await world.until('it is empty', () => fundedIs('False/Empty'));
    const { status } = await world.get('Paymaster', 'shop');
    const messageOf = (of: string) => status?.conditions?.find(({ type }) => type === of)?.message;
    expect(messageOf('Funded')).toContain(
      `The deposit of contract ${aProfile.addresses.sponsorship} in EntryPoint`,
    );
    expect(messageOf('Serving')).toBe(messageOf('Funded'));
    expect(conditionOf(await world.get('Paymaster', 'shop'), 'Serving')).toBe('False/DepositEmpty');
    world.chain.deposits.clear();
    await world.until('it is funded', () => fundedIs('True/Ok'));
  });

  test('a Chain without a profile is not ready, and says what is missing, until it has one', async () => {
    world = await startWorld();
    await world.apply(aChain({ profiles: [] }));
    await world.until(
      'it has nothing to serve',
      async () => conditionOf(await world.get('Chain', 'dev'), 'Ready') === 'False/NothingToServe',
    );
    const { status } = await world.get('Chain', 'dev');
    expect(status?.conditions?.find(({ type }) => type === 'Ready')?.message).toBe(
      'spec.profiles is empty: no paymaster can use this Chain.',
    );
    await world.apply(aChain());
    await world.until(
      'it serves',
      async () => conditionOf(await world.get('Chain', 'dev'), 'Ready') === 'True/Ready',
    );
  });

  test('an address without code is not ready until code is there', async () => {
    world = await startWorld();
    world.chain.withoutCode.add(aSmartContract().spec.address);
    await world.apply(aPaymaster(), aSmartContract());
    await world.until('it is seen', async () =>
      conditionOf(await world.get('SmartContract', 'shop-nft'), 'ContractCode').endsWith('NoCode'),
    );
    expect(conditionOf(await world.get('SmartContract', 'shop-nft'), 'Ready')).toBe('False/NoCode');
    world.chain.withoutCode.clear();
    await world.until('code is seen', async () =>
      conditionOf(await world.get('SmartContract', 'shop-nft'), 'ContractCode').endsWith('CodePresent'),
    );
  });

  test('a node that goes away for a moment is reported on the Chain only; nothing else flaps', async () => {
    world = await startWorld();
    await world.apply(aPaymaster());
    await world.until('the paymaster is ready', isReady(world));
    await world.settle();
    const before = (await world.get('Paymaster', 'shop')).metadata.resourceVersion;
    world.chain.isReachable = false;
    await world.until('it is seen', async () =>
      conditionOf(await world.get('Chain', 'dev'), 'Reachable').endsWith('Unreachable'),
    );
    world.chain.isReachable = true;
    await world.until(
      'it is back',
      async () => conditionOf(await world.get('Chain', 'dev'), 'Ready') === 'True/Ready',
    );
    await world.settle();
    await world.settle();
    expect((await world.get('Paymaster', 'shop')).metadata.resourceVersion).toBe(before);
  });

  test.each<{ name: string; rpc: ChainSpec['rpc']; urlPlace?: string; says: string }>([
    {
      name: 'URLs',
      rpc: { urls: ['http://node.example'] },
      says: 'No URL of spec.rpc answers: check the URLs,',
    },
    {
      name: 'a file of URLs',
      rpc: { file: 'base' },
      says: 'No URL of file "base" answers, which spec.rpc.file names: check that it exists, its URLs,',
    },
    {
      name: 'a key of a Secret',
      rpc: { file: 'base' },
      urlPlace: 'Secret paymaster-system/paymaster-chain-urls',
      says: 'No URL of key "base" of Secret paymaster-system/paymaster-chain-urls answers, which spec.rpc.file names:',
    },
  ])('a chain that cannot be reached says where to look, when it names $name', async (given) => {
    const { rpc, says, urlPlace } = given;
    world = await startWorld(urlPlace === undefined ? {} : { deps: { urlPlace } });
    world.chain.isReachable = false;
    await world.apply(aChain({ rpc }));
    await world.until('it is seen', async () =>
      conditionOf(await world.get('Chain', 'dev'), 'Reachable').endsWith('Unreachable'),
    );
    const { conditions } = (await world.get('Chain', 'dev')).status ?? {};
    expect(conditions?.find(({ type }) => type === 'Reachable')?.message).toContain(says);
  });

  test('a chain whose clock is ahead is reported, in two degrees, and cleared again', async () => {
    world = await startWorld();
    await world.apply(aPaymaster());
    const becomes = (expected: string) =>
      world.until(`it says ${expected}`, async () => {
        world.chain.timestamp = world.time.clock.now() / 1000 + ahead;
        return conditionOf(await world.get('Chain', 'dev'), 'ClockSkew') === expected;
      });
    let ahead = 0;
    await becomes('False/InStep');
    ahead = 60;
    await becomes('True/Ahead');
    ahead = 600;
    await becomes('True/FarAhead');
    ahead = 0;
    await becomes('False/InStep');
  });

  test('a URL of another chain is reported, and none of its answers are used', async () => {
    world = await startWorld();
    world.chain.chainId = 1;
    await world.apply(aPaymaster());
    await world.until('it is seen', async () =>
      conditionOf(await world.get('Chain', 'dev'), 'Reachable').endsWith('WrongChain'),
    );
    expect(conditionOf(await world.get('Paymaster', 'shop'), 'Funded')).toBe('Unknown/Unknown');
  });

  test('without any funding wallet the condition says how to get one', async () => {
    world = await startWorld();
    const { defaultFunding: _, ...profile } = aProfile;
    await world.apply(aChain({ profiles: [profile] }), aPaymaster());
    await world.until('it is seen', async () =>
      conditionOf(await world.get('Paymaster', 'shop'), 'Funded').endsWith('NoFundingWallet'),
    );
  });

  test.each([
    { name: 'everybody may draw on it', organisations: undefined, funded: 'Ok' },
    { name: 'an organisation that is listed may', organisations: ['acme'], funded: 'Ok' },
    { name: 'one that is not listed may not', organisations: ['other'], funded: 'NoFundingWallet' },
  ])('where a contract keeps one deposit for all, $name', async ({ organisations, funded }) => {
    world = await startWorld();
    const { defaultFunding: _, ...profile } = aProfile;
    const shared = {
      ...profile,
      layout: 'verifying-0.7' as const,
      entryPoint: '0x0000000071727De22E5E9d8BAf0edAc6f37da032',
    };
    const listed = organisations && { defaultFunding: { address: `0x${'1'.repeat(40)}`, organisations } };
    await world.apply(aChain({ profiles: [{ ...shared, ...listed }] }), aPaymaster());
    await world.until('it is seen', async () =>
      conditionOf(await world.get('Paymaster', 'shop'), 'Funded').endsWith(funded),
    );
  });

  test.each([
    {
      name: 'a chain with real money warns',
      chainId: 8453,
      organisations: ['acme', '*'],
      want: 'True/EveryOrganisation',
    },
    { name: 'one that lists who may does not', chainId: 8453, organisations: ['acme'], want: undefined },
    { name: 'a dev chain does not', chainId: 31_337, organisations: ['*'], want: undefined },
  ])('of a wallet that every Organisation spends from: $name', async ({ chainId, organisations, want }) => {
    world = await startWorld();
    const defaultFunding = { address: `0x${'1'.repeat(40)}`, organisations };
    await world.apply(aChain({ chainId, profiles: [{ ...aProfile, defaultFunding }] }));
    await world.until('it is programmed', async () => {
      const chain = await world.get('Chain', 'dev');
      return (
        chain?.status?.conditions?.some(({ type, status }) => type === 'Programmed' && status === 'True') ===
        true
      );
    });
    const conditions = (await world.get('Chain', 'dev'))?.status?.conditions ?? [];
    const found = conditions.find(({ type }) => type === 'OpenFunding');
    expect(found && `${found.status}/${found.reason}`).toBe(want);
    if (want !== undefined) expect(found?.message).toContain(defaultFunding.address);
  });

  test('a signer file that is not mounted is named', async () => {
    world = await startWorld();
    await world.apply(aChain({ profiles: [{ ...aProfile, signer: { file: 'gone' } }] }), aPaymaster());
    await world.until('it is seen', async () =>
      conditionOf(await world.get('Paymaster', 'shop'), 'SignerAuthorized').endsWith('SignerNotFound'),
    );
    const chain = await world.get('Chain', 'dev');
    expect(conditionOf(chain, 'ResolvedRefs')).toBe('False/SignerNotFound');
    const message = chain?.status?.conditions?.find(({ type }) => type === 'ResolvedRefs')?.message;
    expect(message).toBe(
      'The signer directory has no usable key "gone": add it (0x and 64 hex digits, or a signer of another kind).',
    );
  });

  test.each([
    {
      name: 'whose file is wrong',
      problem: 'dev: kind must be one of file, kms, got "hsm"',
      trouble: undefined,
      want: 'dev: kind must be one of file, kms, got "hsm".',
    },
    {
      name: 'that cannot sign',
      problem: undefined,
      trouble: 'AWS KMS answers AccessDeniedException to Sign',
      want: 'The operator cannot sign with "dev": AWS KMS answers AccessDeniedException to Sign.',
    },
  ])(
    'a signer $name is named, and paymasters are served all the same',
    async ({ problem, trouble, want }) => {
      const signer = {
        address: signerAddress,
        implementation: 'test',
        sign: () => [],
        trouble: () => trouble,
      };
      world = await startWorld({ deps: { signers: { get: () => signer, problem: () => problem } } });
      await world.apply(aChain(), aPaymaster());
      await world.until('it is seen', async () =>
        conditionOf(await world.get('Chain', 'dev'), 'ResolvedRefs').endsWith('SignerUnusable'),
      );
      const chain = await world.get('Chain', 'dev');
      const message = chain?.status?.conditions?.find(({ type }) => type === 'ResolvedRefs')?.message;
      expect(message).toBe(want);
      await world.until('it is served', async () => (await world.configs.getChain(31_337)) !== undefined);
    },
  );
});
