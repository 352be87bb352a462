import { Interface } from 'ethers';
import { parseAddress, type Address } from '../../../core/units/address.js';
import { encodeWith } from '../../chain/support/account.js';
import { awaited, podsOf, system } from '../cluster.js';
import { makeSecret, pause, type World } from '../scenario.js';
import type { Tools } from '../tools.js';
import { startCustomers, tally, type Asked } from './customers.js';
import { seconds, withLoad, type Scene } from './scene.js';
import { newWallet } from '../../support/new-wallet.js';

const contract = new Interface([
  'function setSigner(address signer)',
  'function addSigner(address signer)',
  'function removeSigner(address signer)',
]);
const refusal = 'error -32006 SIGNER_NOT_AUTHORIZED';
/** docs/key-rotation.md: asked every 30 s, counts when it is answered again 10 s later, and then it is programmed. */
const statedMs = 60_000;
/** After a minute at the earliest; asked again every 15 s at most. */
const resumedMs = 120_000;

/** Somebody changes the signer of a contract to a key that is not ours, and back. */
export async function changeSigner(world: World, scene: Scene): Promise<void> {
  const { report, chain } = world;
  const version = '1.1.0';
  report.section('Signer changed on chain');
  const customers = await startCustomers({ devChain: chain.devChain, ...scene, version, holdMs: 0 });
  const stranger = parseAddress(newWallet().address);
  let changedAt = 0;
  let refusedAt = 0;
  await withLoad(
    world,
    scene,
    { name: 'calls are refused with the reason', isExpected: (answer) => answer === refusal },
    async () => {
      await pause(5);
      await send(world, version, 'setSigner', stranger);
      changedAt = performance.now();
      const first = await awaited('calls are refused with -32006', 90_000, () =>
        Promise.resolve(
          customers.asked.find(({ askedAt, answer }) => askedAt > changedAt && answer === refusal),
        ),
      );
      refusedAt = first.answeredAt;
      await pause(15);
      if (refusedAt - changedAt > statedMs)
        throw new Error(
          `refused only after ${seconds(refusedAt - changedAt)}, stated are ${seconds(statedMs)}`,
        );
      const between = customers.asked.filter(({ askedAt }) => askedAt > changedAt && askedAt < refusedAt);
      return `after ${seconds(refusedAt - changedAt)}; signed until then and void: ${voidCount(between)}`;
    },
  );
  await report.step('nothing is signed for the key once that is known', () => {
    const late = customers.asked.filter(({ askedAt }) => askedAt > refusedAt);
    const signed = late.filter(({ answer }) => answer !== refusal);
    if (signed.length > 0) throw new Error(JSON.stringify(tally(signed)));
    return `${late.length} of ${late.length} calls refused`;
  });
  await withLoad(
    world,
    scene,
    { name: 'signing goes on when the signer is back', isExpected: (answer) => answer === refusal },
    async () => {
      await send(world, version, 'setSigner', parseAddress(chain.devChain.sponsorSigner.address));
      const backAt = performance.now();
      const first = await awaited('something is signed again', resumedMs, () =>
        Promise.resolve(
          customers.asked.find(({ askedAt, answer }) => askedAt > backAt && answer === 'signed'),
        ),
      );
      await pause(5);
      return `after ${seconds(first.answeredAt - backAt)}, ${seconds(first.answeredAt - refusedAt)} after it stopped`;
    },
  );
  await customers.stop();
  await report.step('0 operations that were signed since revert', () => {
    const since = customers.asked.filter(({ askedAt }) => askedAt > refusedAt);
    if (voidCount(since) > 0) throw new Error(JSON.stringify(tally(since)));
    return JSON.stringify(tally(since));
  });
}

/** docs/key-rotation.md, on a contract with several signers. Resolves with the Secret of the signers as it is then. */
export async function rotateSigner(
  world: World,
  scene: Scene,
  url: string,
): Promise<Readonly<Record<string, string>>> {
  const { report, tools, chain } = world;
  const version = 'singleton-0.7';
  report.section('Signer rotated on a contract with several signers');
  const fresh = newWallet();
  const keys = { dev: chain.devChain.sponsorSigner.privateKey, fresh: fresh.privateKey };
  const customers = await startCustomers({
    devChain: chain.devChain,
    caller: scene.caller,
    url,
    version,
    holdMs: 20_000,
  });
  await withLoad(world, scene, { name: '0 failed calls while the key is rotated' }, async () => {
    await makeSecret(tools, 'paymaster-signers', keys);
    await patchProfile(tools, version, { signers: [{ file: 'fresh' }, { file: 'dev' }] });
    await send(world, version, 'addSigner', parseAddress(fresh.address));
    const addedAt = performance.now();
    await awaited('the new key signs', 150_000, async () =>
      (await signingFile(tools, version)) === 'fresh' ? true : undefined,
    );
    const programmed = performance.now() - addedAt;
    await awaited('every replica has the new key', 180_000, async () =>
      (await haveFile(tools, 'fresh')) ? true : undefined,
    );
    const mounted = performance.now() - addedAt;
    await pause(expirySeconds);
    await send(world, version, 'removeSigner', parseAddress(chain.devChain.sponsorSigner.address));
    await patchProfile(tools, version, { signer: { file: 'fresh' } });
    await pause(30);
    return `new key signs ${seconds(programmed)} after addSigner, in every pod after ${seconds(mounted)}`;
  });
  await customers.stop();
  await report.step('0 operations revert', () => {
    const fates = tally(customers.asked);
    if (Object.keys(fates).some((fate) => fate !== 'mined')) throw new Error(JSON.stringify(fates));
    return JSON.stringify(fates);
  });
  return keys;
}

/** `maxExpirySeconds` of the Chain in this run, so that the run need not wait ten minutes for signatures of the old key. */
export const expirySeconds = 60;

export function voidCount(asked: readonly Asked[]): number {
  return asked.filter(({ answer, fate }) => answer === 'signed' && fate !== undefined && fate !== 'mined')
    .length;
}

async function send(
  { chain: { devChain } }: World,
  version: string,
  method: string,
  signer: Address,
): Promise<void> {
  const to = devChain.profile(version).sponsorship;
  await devChain.transactor.send(method, { to, data: encodeWith(contract, method, [signer]) });
}

/** Replaces the keys of a profile of the Chain. */
async function patchProfile(
  tools: Tools,
  version: string,
  keys: { readonly signer: object } | { readonly signers: readonly object[] },
): Promise<void> {
  const chain = JSON.parse(await tools.kubectl(['get', 'chain', 'dev', '-o=json'])) as {
    readonly spec: { readonly profiles: readonly Readonly<Record<string, unknown>>[] };
  };
  const profiles = chain.spec.profiles.map((profile) => {
    if (profile['version'] !== version) return profile;
    const { signer: _signer, signers: _signers, ...rest } = profile;
    return { ...rest, ...keys };
  });
  await tools.kubectl([
    'patch',
    'chain',
    'dev',
    '--type=merge',
    `--patch=${JSON.stringify({ spec: { profiles } })}`,
  ]);
}

/** The key file that replicas are told to sign with. */
async function signingFile(tools: Tools, version: string): Promise<string | undefined> {
  const text = await tools.kubectl([
    'get',
    'chainconfigs',
    '-n',
    system,
    '-o=jsonpath={.items[0].spec.config}',
  ]);
  const { profiles } = JSON.parse(text) as {
    readonly profiles: readonly { readonly version: string; readonly signerFile: string }[];
  };
  return profiles.find((profile) => profile.version === version)?.signerFile;
}

async function haveFile(tools: Tools, file: string): Promise<boolean> {
  const script = `console.log(require('node:fs').existsSync('/etc/paymaster/signers/${file}'))`;
  const found = await Promise.all(
    (await podsOf(tools, 'rpc')).map((pod) =>
      tools.tryKubectl(['exec', '-n', system, pod, '--', 'node', '-e', script]),
    ),
  );
  return found.every(({ stdout }) => stdout.trim() === 'true');
}
