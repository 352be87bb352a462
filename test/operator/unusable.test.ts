import { afterEach, describe, expect, test } from '@jest/globals';
import type { ProfileConfig } from '../../core/config/chain-config.js';
import type { Signers } from '../../core/paymaster/signer.js';
import { parseAddress } from '../../core/units/address.js';
import { aChain, aPaymaster, aProfile } from '../build/resources.js';
import { signerAddress } from './scripted-chain.js';
import { conditionOf, isReady, startWorld, type World } from './world.js';

const other = parseAddress(`0x${'77'.repeat(20)}`);

let world: World;
afterEach(() => world.close());

async function profile(): Promise<ProfileConfig> {
  const [found] = (await world.configs.getChain(31337))?.config.profiles ?? [];
  if (found === undefined) throw new Error('the chain serves no profile');
  return found;
}

/** Virtual seconds until the served profile is as expected. */
async function secondsUntil(what: string, isAsWanted: (profile: ProfileConfig) => boolean): Promise<number> {
  const began = world.time.clock.now();
  await world.until(what, async () => isAsWanted(await profile()));
  return (world.time.clock.now() - began) / 1000;
}

const isStopped = ({ unusable }: ProfileConfig): boolean => unusable !== undefined;
const isServed = ({ unusable }: ProfileConfig): boolean => unusable === undefined;

async function startReady(): Promise<void> {
  world = await startWorld();
  await world.apply(aPaymaster());
  await world.until('the paymaster is ready', isReady(world));
  await world.settle();
}

/** Whether signing goes on, from the Chain's condition about its profile. */
async function serving(): Promise<string | undefined> {
  const [found] = (await world.get('Chain', 'dev')).status?.profiles ?? [];
  return found?.conditions.find(({ type }) => type === 'Serving')?.status;
}

describe('signing for a profile that its chain does not accept', () => {
  test.each<{ name: string; breakIt: () => void; reason: string }>([
    { name: 'the signer', breakIt: () => (world.chain.signer = other), reason: 'SIGNER_NOT_AUTHORIZED' },
    {
      name: 'the EntryPoint',
      breakIt: () => (world.chain.entryPoint = other),
      reason: 'ENTRY_POINT_MISMATCH',
    },
    {
      name: 'the code',
      breakIt: () => world.chain.withoutCode.add(aProfile.addresses.sponsorship.toLowerCase()),
      reason: 'CONTRACT_NOT_DEPLOYED',
    },
    { name: 'the chain id', breakIt: () => (world.chain.chainId = 5), reason: 'WRONG_CHAIN' },
  ])('stops for $name, in the ChainConfig and in no PaymasterConfig', async ({ breakIt, reason }) => {
    await startReady();
    const before = await world.config('shop');
    breakIt();
    const seconds = await secondsUntil('signing stops', isStopped);
    // One look, and the ten seconds until the question is repeated.
    expect(seconds).toBeGreaterThan(10);
    expect(seconds).toBeLessThan(16);
    expect((await profile()).unusable).toMatchObject({ reason });
    expect(await serving()).toBe('False');
    expect(await world.config('shop')).toEqual(before);
  });

  test('stops within a minute for code that was replaced, and goes on for that code once the profile names it', async () => {
    await startReady();
    const { codeHash } = await profile();
    world.chain.contractCode = '0xfd';
    expect(await secondsUntil('signing stops', isStopped)).toBeLessThan(60);
    expect((await profile()).unusable).toMatchObject({ reason: 'CODE_CHANGED' });
    const [shown] = (await world.get('Chain', 'dev')).status?.profiles ?? [];
    const found = shown?.conditions.find(({ type }) => type === 'CodeUnchanged');
    const [, now] = /was 0x[0-9a-f]{64} and is (0x[0-9a-f]{64}): find out/.exec(found?.message ?? '') ?? [];
    expect(found?.reason).toBe('CodeChanged');
    expect(found?.message).toContain(codeHash);
    expect(conditionOf(await world.get('Chain', 'dev'), 'Ready')).toBe('False/ChainNotReady');

    await world.apply(aChain({ profiles: [{ ...aProfile, codeHash: now ?? '' }] }));
    await secondsUntil('signing goes on', isServed);
    // Without the field the accepted code stays the accepted one.
    await world.apply(aChain());
    await world.settle();
    expect(await profile()).toMatchObject({ codeHash: now });
    expect(isServed(await profile())).toBe(true);
  });

  test('stops for code that was replaced while no operator ran, and goes on when the old code is back', async () => {
    await startReady();
    await world.operator.stop();
    world.chain.contractCode = '0xfd';
    await world.restart();
    expect(await secondsUntil('signing stops', isStopped)).toBeLessThan(60);
    await world.restart();
    await world.settle();
    expect((await profile()).unusable).toMatchObject({ reason: 'CODE_CHANGED' });
    world.chain.contractCode = '0xfe';
    await secondsUntil('signing goes on', isServed);
  });

  test('goes on without stake or deposit, which the Chain shows within a minute', async () => {
    await startReady();
    world.chain.stake = 'Unstaked';
    world.chain.deposits.set(aProfile.addresses.sponsorship.toLowerCase(), 0n);
    const shown = async (type: string) => {
      const [found] = (await world.get('Chain', 'dev')).status?.profiles ?? [];
      return found?.conditions.find((each) => each.type === type)?.reason;
    };
    const began = world.time.clock.now();
    await world.until('the stake is missed', async () => (await shown('Staked')) === 'Unstaked');
    await world.until('the deposit is missed', async () => (await shown('Deposited')) === 'Empty');
    expect(world.time.clock.now() - began).toBeLessThan(60_000);
    expect(isServed(await profile())).toBe(true);
    expect(conditionOf(await world.get('Chain', 'dev'), 'Ready')).toBe('True/Ready');
  });

  test('stops while the contract hashes an operation in another way', async () => {
    await startReady();
    world.chain.hashesLikeUs = false;
    await secondsUntil('signing stops', isStopped);
    expect((await profile()).unusable).toMatchObject({ reason: 'SIGNATURE_REFUSED' });
    expect(await serving()).toBe('False');
    world.chain.hashesLikeUs = true;
    await secondsUntil('signing goes on', isServed);
  });

  test('goes on when the profile is corrected, at the earliest a minute after it stopped', async () => {
    await startReady();
    world.chain.signer = other;
    await secondsUntil('signing stops', isStopped);
    world.chain.signer = signerAddress;
    const seconds = await secondsUntil('signing goes on', isServed);
    expect(seconds).toBeGreaterThan(55);
    expect(seconds).toBeLessThan(76);
    expect(await serving()).toBe('True');
  });

  test('goes on while the node cannot be reached, and after one answer that is not repeated', async () => {
    await startReady();
    world.chain.isReachable = false;
    await world.settle();
    await world.settle();
    expect(isServed(await profile())).toBe(true);
    world.chain.isReachable = true;
    world.chain.signer = other;
    await world.until(
      'the answer was heard',
      async () => conditionOf(await world.get('Paymaster', 'shop'), 'SignerAuthorized') !== 'True/Authorized',
    );
    world.chain.signer = signerAddress;
    await world.settle();
    await world.settle();
    expect(isServed(await profile())).toBe(true);
  });

  test('stays stopped over a restart of the operator, also while the node cannot be reached', async () => {
    await startReady();
    world.chain.signer = other;
    await secondsUntil('signing stops', isStopped);
    world.chain.isReachable = false;
    await world.restart();
    await world.settle();
    expect((await profile()).unusable).toMatchObject({ reason: 'SIGNER_NOT_AUTHORIZED' });
  });
});

describe('a profile with several keys', () => {
  const keys: Readonly<Record<string, typeof signerAddress>> = { dev: signerAddress, next: other };
  const signers: Pick<Signers, 'get'> = {
    get: (file) => {
      const address = keys[file];
      return address && { address, implementation: 'test', sign: () => [] };
    },
  };
  const { signer: _, ...rest } = aProfile;
  const rotating = aChain({ profiles: [{ ...rest, signers: [{ file: 'next' }, { file: 'dev' }] }] });

  async function startRotation(): Promise<void> {
    world = await startWorld({ deps: { signers } });
    await world.apply(aPaymaster());
    await world.until('the paymaster is ready', isReady(world));
    await world.apply(rotating);
  }

  test('signs with the key that the contract accepts, not with the first one', async () => {
    await startRotation();
    await world.settle();
    expect(await profile()).toMatchObject({ signerFile: 'dev', signerFiles: ['next', 'dev'] });
    expect(await profile()).not.toHaveProperty('acceptedSigners');
    expect(conditionOf(await world.get('Paymaster', 'shop'), 'SignerAuthorized')).toBe('True/Authorized');
  });

  test('never signs with a new key that is listed first before the contract accepts it', async () => {
    await startRotation();
    const seen = new Set<string>();
    for (let step = 0; step < 200; step += 1) {
      seen.add((await profile()).signerFile);
      world.time.advance(10);
      await new Promise((resolve) => setImmediate(resolve));
    }
    expect([...seen]).toEqual(['dev']);
  });

  test('switches within one look of five seconds, and signing does not stop', async () => {
    await startRotation();
    await world.settle();
    world.chain.signer = other;
    const seconds = await secondsUntil('the other key signs', ({ signerFile }) => signerFile === 'next');
    expect(seconds).toBeLessThan(5.5);
    await world.settle();
    expect(await profile()).toMatchObject({ signerFile: 'next' });
    expect(isServed(await profile())).toBe(true);
  });

  test('keeps the last key while the node cannot be reached, also over a restart', async () => {
    await startRotation();
    await world.settle();
    world.chain.isReachable = false;
    await world.restart();
    await world.settle();
    expect(await profile()).toMatchObject({ signerFile: 'dev' });
  });
});
