import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { Interface } from 'ethers';
import { drainingExpirySeconds } from '../../core/config/chain-config.js';
import { defaultMaxExpirySeconds } from '../../core/config/caps.js';
import { entryPoints } from '../../core/entry-point/address.js';
import type { ProfileSpec } from '../../core/resources/profile.js';
import { parseAddress, type Address } from '../../core/units/address.js';
import { readNpmArtifact } from '../../standalone/dev-chain/artifacts.js';
import { withArguments } from '../../standalone/dev-chain/canonical.js';
import { fundPaymaster } from '../../standalone/dev-chain/deployments.js';
import { create2Address, deployOnce } from '../../standalone/dev-chain/transactor.js';
import { encodeWith } from '../chain/support/account.js';
import { paymaster } from '../support/paymaster.js';
import { until } from '../support/until.js';
import { everybody, firstKeyFile, replicas, startRotation, type Rotation } from './support/rotation.js';
import { startTraffic, type Signed, type Traffic } from './support/rotation-traffic.js';
import { newWallet } from '../support/new-wallet.js';

// docs/key-rotation.md, step by step, with three replicas on a real chain, while wallets ask for data and mine their operations.

const severalSigners = ['singleton-0.6', 'singleton-0.7', 'singleton-0.8'] as const;
const oneSigner = ['1.1.0', '2.0.0'] as const;
const fixedSigner = 'verifying-0.7';
const ownerAbi = new Interface([
  'function addSigner(address signer)',
  'function removeSigner(address signer)',
  'function setSigner(address signer)',
]);
const patienceMs = 120_000;

type Key = { readonly file: string; readonly address: Address; readonly privateKey: string };

let rotation: Rotation;
let traffic: Traffic;
/** The key that signs for a version now. */
const current = new Map<string, Pick<Key, 'file' | 'address'>>();
let keys = 0;

beforeAll(async () => {
  rotation = await startRotation([...severalSigners, ...oneSigner, fixedSigner]);
  const { address } = rotation.devChain.sponsorSigner;
  for (const version of [...severalSigners, ...oneSigner, fixedSigner])
    current.set(version, { file: firstKeyFile, address: parseAddress(address) });
}, 600_000);
afterAll(() => rotation.stop());
afterEach(() => traffic.stop());

describe.each(severalSigners)('%s, whose contract accepts several signers', (version) => {
  beforeEach(async () => {
    traffic = await startTraffic(rotation, [version]);
  });

  test('loses nothing between a new key and the removal of the old one', async () => {
    const old = keyOf(version);
    const next = newKey();
    // The Secret comes to the last replica much later.
    const late = replicas.length - 1;
    const early = everybody.filter((each) => each !== late);
    await rotation.mount(next.file, next.privateKey, early);
    list(version, [next.file, old.file]);
    await rotation.serves(version, 'with both', ({ signerFiles }) => signerFiles?.length === 2);
    const slow = await traffic.hold(version);
    await traffic.rounds(replicas.length);
    expect(signersSeen(traffic.signed)).toEqual(new Set([old.address]));

    await callOwner(version, 'addSigner', next.address);
    await rotation.serves(version, 'with the new key', ({ signerFile }) => signerFile === next.file);
    for (const replica of early.filter((each) => each !== 'operator'))
      await until(`replica ${replica} has switched`, () => signsWith(replica, next), patienceMs);
    await traffic.rounds(replicas.length);
    expect(signsWith(late, old)).toBe(true);
    await rotation.mount(next.file, next.privateKey, [late]);
    await until('the late replica has switched', () => signsWith(late, next), patienceMs);
    // A wallet that took its time: the contract still accepts the old key.
    expect(await traffic.mine(slow)).toBe('mined');

    await traffic.between(() => rotation.clock.pass(rotation.devChain, defaultMaxExpirySeconds));
    await callOwner(version, 'removeSigner', old.address);
    sign(version, next);
    await rotation.serves(version, 'with the new key alone', ({ signerFiles }) => signerFiles === undefined);
    const before = traffic.signed.length;
    await traffic.rounds(replicas.length);

    expect(signersSeen(traffic.signed.slice(before))).toEqual(new Set([next.address]));
    expect(outcomes(traffic.signed).void).toBe(0);
    expect(traffic.refused).toEqual([]);
    await everythingIsAccountedFor();
  }, 600_000);
});

describe.each(oneSigner)('%s, whose contract accepts one signer', (version) => {
  beforeEach(async () => {
    traffic = await startTraffic(rotation, [version]);
  });

  test('drained: nothing is signed for longer than 30 seconds, void signatures are counted before, and the old key never comes back', async () => {
    const old = keyOf(version);
    const next = await mountBeside(version);
    const early = await traffic.hold(version);
    expect(early.validUntil - early.answeredAt).toBeGreaterThan(drainingExpirySeconds);

    rotation.editProfiles([version], (profile) => ({ ...profile, draining: true }));
    await rotation.serves(version, 'draining', ({ draining }) => draining === true);
    for (const replica of replicas)
      await until(`replica ${replica} drains`, () => isShort(lastOf(replica)), patienceMs);
    const drained = traffic.signed.length;
    await traffic.between(() => rotation.clock.pass(rotation.devChain, defaultMaxExpirySeconds));
    expect(await traffic.mine(early)).toBe('expired');

    const { shown, held } = await traffic.between(async () => {
      await nothingIsLive();
      const waiting = [
        await traffic.hold(version, 0),
        await traffic.hold(version, 1),
        await traffic.hold(version, 2),
      ];
      return { shown: await listPromises(), held: waiting };
    });
    const contract = rotation.devChain.profile(version).sponsorship.toLowerCase();
    expect(shown).toContain(`contract:${contract} ${held.length} operations, the last expires at `);

    await callOwner(version, 'setSigner', next.address);
    for (const each of held) expect(await traffic.mine(each)).toBe('void');
    await rotation.serves(version, 'with the new key', ({ signerFile }) => signerFile === next.file);
    for (const replica of replicas)
      await until(`replica ${replica} has switched`, () => signsWith(replica, next), patienceMs);
    const changed = traffic.signed.length;
    sign(version, next);
    await rotation.serves(
      version,
      'with the new key alone',
      ({ signerFiles, draining }) => signerFiles === undefined && draining === undefined,
    );
    await traffic.rounds(2 * replicas.length);

    expect(traffic.signed.slice(drained, changed).filter((each) => !isShort(each))).toEqual([]);
    const after = traffic.signed.slice(drained);
    for (const replica of replicas) expect(keysOf(after, replica)).toEqual([old.address, next.address]);
    const lost = after.filter(({ outcome }) => outcome === 'void');
    expect(signersSeen(lost)).toEqual(new Set([old.address]));
    expect(lost).toEqual(expect.arrayContaining(held));
    await everythingIsAccountedFor();
  }, 600_000);

  test('suspended for the change: nothing is void, and callers are told', async () => {
    const old = keyOf(version);
    const next = await mountBeside(version);
    rotation.editProfiles([version], (profile) => ({ ...profile, draining: true }));
    await rotation.serves(version, 'draining', ({ draining }) => draining === true);
    const slow = await traffic.hold(version);
    await traffic.between(() => rotation.clock.pass(rotation.devChain, defaultMaxExpirySeconds));
    expect(await traffic.mine(slow)).toBe('expired');

    const fence = `contract:${rotation.devChain.profile(version).sponsorship.toLowerCase()}`;
    const last = await traffic.hold(version);
    expect(await command(['suspend', '--direct'], fence)).toContain(`${fence} is suspended`);
    const suspended = traffic.refused.length;
    await until('wallets are refused', () => traffic.refused.length > suspended);
    await traffic.mine(last);
    await traffic.between(nothingIsLive);
    await callOwner(version, 'setSigner', next.address);
    await rotation.serves(version, 'with the new key', ({ signerFile }) => signerFile === next.file);
    const { signed, refused } = traffic;
    const switched = signed.length;
    expect(await command(['unsuspend', '--direct'], fence)).toContain(`${fence} is unsuspended`);
    for (const replica of replicas)
      await until(`replica ${replica} has switched`, () => signsWith(replica, next), patienceMs);
    sign(version, next);
    await traffic.rounds(replicas.length);

    expect(signersSeen(signed.slice(0, switched))).toEqual(new Set([old.address]));
    expect(signersSeen(signed.slice(switched))).toEqual(new Set([next.address]));
    expect(outcomes(signed).void).toBe(0);
    expect(new Set(refused.map(({ reason }) => reason))).toEqual(new Set(['SUSPENDED']));
    await everythingIsAccountedFor();
  }, 600_000);
});

describe(`${fixedSigner}, whose contract keeps the signer of its constructor`, () => {
  beforeEach(async () => {
    traffic = await startTraffic(rotation, [fixedSigner]);
  });

  test('loses nothing when another contract takes its place', async () => {
    const old = keyOf(fixedSigner);
    const next = newKey();
    await rotation.mount(next.file, next.privateKey, everybody);
    const { devChain } = rotation;
    const profile = devChain.profile(fixedSigner);
    const initCode = withArguments(
      readNpmArtifact('aa07', 'VerifyingPaymaster').bytecode,
      ['address', 'address'],
      [entryPoints['0.7'], next.address],
    );
    const contract = { name: 'VerifyingPaymaster', address: create2Address(initCode), initCode };
    await deployOnce(devChain.chain, devChain.transactor, contract);
    await fundPaymaster(devChain.chain, devChain.transactor, {
      ...profile,
      ...contract,
      sponsorship: contract.address,
    });

    await traffic.rounds(replicas.length);
    const slow = await traffic.hold(fixedSigner);
    rotation.editProfiles([fixedSigner], ({ signer: _old, ...rest }) => ({
      ...rest,
      addresses: { sponsorship: contract.address },
      signer: { file: next.file },
    }));
    for (const replica of replicas)
      await until(`replica ${replica} has switched`, () => signsWith(replica, next), patienceMs);
    expect(await traffic.mine(slow)).toBe('mined');
    await traffic.rounds(replicas.length);

    for (const replica of replicas)
      expect(keysOf(traffic.signed, replica)).toEqual([old.address, next.address]);
    expect(outcomes(traffic.signed).void).toBe(0);
    await everythingIsAccountedFor();
  }, 600_000);
});

function keyOf(version: string): Pick<Key, 'file' | 'address'> {
  const key = current.get(version);
  if (key === undefined) throw new Error(`nobody signs for ${version}`);
  return key;
}

function newKey(): Key {
  const { address, privateKey } = newWallet();
  return { file: `key-${(keys += 1)}`, address: parseAddress(address), privateKey };
}

/** The new key is mounted everywhere and listed in front; the old one goes on signing. */
async function mountBeside(version: string): Promise<Key> {
  const next = newKey();
  await rotation.mount(next.file, next.privateKey, everybody);
  list(version, [next.file, keyOf(version).file]);
  await rotation.serves(version, 'with both', ({ signerFiles }) => signerFiles?.length === 2);
  return next;
}

function list(version: string, files: readonly string[]): void {
  rotation.editProfiles([version], ({ signer: _one, ...rest }: ProfileSpec) => ({
    ...rest,
    signers: files.map((file) => ({ file })),
  }));
}

/** The last step: one key, and nothing else of the rotation. */
function sign(version: string, { file, address }: Pick<Key, 'file' | 'address'>): void {
  rotation.editProfiles([version], ({ signers: _several, draining: _draining, ...rest }) => ({
    ...rest,
    signer: { file },
  }));
  current.set(version, { file, address });
}

async function callOwner(version: string, method: string, signer: Address): Promise<void> {
  const { transactor, profile } = rotation.devChain;
  await transactor.send(`${method} of ${version}`, {
    to: profile(version).sponsorship,
    data: encodeWith(ownerAbi, method, [signer]),
  });
}

async function command(words: readonly string[], ...id: readonly string[]): Promise<string> {
  const args = [...words, String(rotation.devChain.chainId), ...id];
  const { out, error } = await paymaster(args, { PAYMASTER_DATABASE_URL: rotation.databaseUrl });
  expect(error).toBe('');
  return out;
}

const listPromises = (): Promise<string> => command(['promise', 'list']);

async function nothingIsLive(): Promise<void> {
  await until(
    'nothing is live',
    async () => (await listPromises()).startsWith('nothing that is signed'),
    patienceMs,
  );
}

/** Every data that was signed are mined, void for their key, or expired, and nothing stays reserved for them. */
async function everythingIsAccountedFor(): Promise<void> {
  await traffic.between(async () => {
    expect(outcomes(traffic.signed).held).toBe(0);
    await rotation.clock.pass(rotation.devChain, defaultMaxExpirySeconds);
    await nothingIsLive();
  });
}

function lastOf(replica: number): Signed | undefined {
  return traffic.signed.findLast((each) => each.replica === replica);
}

function signsWith(replica: number, { address }: Pick<Key, 'address'>): boolean {
  return lastOf(replica)?.signer === address;
}

function isShort(signed: Signed | undefined): boolean {
  return signed !== undefined && signed.validUntil - signed.answeredAt <= drainingExpirySeconds;
}

function signersSeen(signed: readonly Signed[]): ReadonlySet<Address> {
  return new Set(signed.map(({ signer }) => signer));
}

/** The keys that a replica has signed with, one entry per change. */
function keysOf(signed: readonly Signed[], replica: number): readonly Address[] {
  const used = signed.filter((each) => each.replica === replica).map(({ signer }) => signer);
  return used.filter((signer, at) => signer !== used[at - 1]);
}

function outcomes(signed: readonly Signed[]): Readonly<Record<Signed['outcome'], number>> {
  const count = (of: Signed['outcome']) => signed.filter(({ outcome }) => outcome === of).length;
  return { mined: count('mined'), void: count('void'), expired: count('expired'), held: count('held') };
}
