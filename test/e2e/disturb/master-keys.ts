import { randomBytes } from 'node:crypto';
import { awaited, system } from '../cluster.js';
import { connectionUrl, pause, type World } from '../scenario.js';
import type { Tools } from '../tools.js';
import { startCustomers, tally, type Customers } from './customers.js';
import { seconds, withLoad, type Scene } from './scene.js';

const secret = 'paymaster-master-keys';

/** docs/key-rotation.md, for `master.key`: wallets with the old URL are served until the old key is taken away. */
export async function rotateMasterKeys(world: World, scene: Scene): Promise<void> {
  const { report, tools, chain } = world;
  report.section('Master keys rotated');
  const old = await masterKey(tools);
  const customersOf = (url: string): Promise<Customers> =>
    startCustomers({ devChain: chain.devChain, caller: scene.caller, url, version: '1.1.0', holdMs: 5_000 });
  const former = await customersOf(scene.url);

  await withLoad(
    world,
    scene,
    { name: '0 failed calls after a change that would end keys in use, which is refused' },
    async () => {
      await patchSecret(tools, { 'master.key': randomBytes(32).toString('hex') });
      const message = await awaited('the Chain says Refused', loadedMs, async () => {
        const [reason, text] = await condition(tools);
        return reason === 'Refused' ? text : undefined;
      });
      await patchSecret(tools, { 'master.key': old });
      await awaited('the Chain says InForce', loadedMs, async () =>
        (await condition(tools))[0] === 'InForce' ? true : undefined,
      );
      if ((await connectionUrl(tools)) !== scene.url) throw new Error('the URL has changed');
      return message;
    },
  );

  let url = scene.url;
  await withLoad(
    world,
    scene,
    { name: '0 failed calls of the old URL while the key is rotated' },
    async () => {
      const startedAt = performance.now();
      await patchSecret(tools, { 'master.key': randomBytes(32).toString('hex'), 'master-previous.key': old });
      url = await awaited('the connection Secret has another URL', switchedMs, async () => {
        const found = await connectionUrl(tools);
        return found === scene.url ? undefined : found;
      });
      const switchedAt = performance.now();
      await pause(10);
      return `new URL after ${seconds(switchedAt - startedAt)}`;
    },
  );

  const renewed = await customersOf(url);
  await withLoad(
    world,
    { wallet: scene.wallet, url },
    { name: '0 failed calls of the new URL while the old key is taken away' },
    async () => {
      const removedAt = performance.now();
      const patch = JSON.stringify([{ op: 'remove', path: '/data/master-previous.key' }]);
      await tools.kubectl(['patch', 'secret', '-n', system, secret, '--type=json', `--patch=${patch}`]);
      const refused = await awaited('the old URL is refused', switchedMs, () =>
        Promise.resolve(former.asked.find(({ answer }) => answer !== 'signed')),
      );
      await pause(5);
      return `old URL refused with "${refused.answer}" after ${seconds(refused.answeredAt - removedAt)}`;
    },
  );
  await former.stop();
  await renewed.stop();
  await report.step('0 operations revert', () => {
    const counts = { old: tally(former.asked), new: tally(renewed.asked) };
    const wrong = Object.keys({ ...counts.old, ...counts.new }).filter(
      (key) => key !== 'mined' && !isRefusal(key),
    );
    if (wrong.length > 0 || Object.keys(counts.new).length > 1) throw new Error(JSON.stringify(counts));
    return JSON.stringify(counts);
  });
}

/** The kubelet brings a changed Secret to pods within two minutes. */
const loadedMs = 240_000;
/** The operator announces the new key two minutes after it has seen it. */
const switchedMs = 480_000;

const isRefusal = (answer: string): boolean => answer.startsWith('error -');

async function masterKey(tools: Tools): Promise<string> {
  const encoded = await tools.kubectl([
    'get',
    'secret',
    '-n',
    system,
    secret,
    '-o=jsonpath={.data.master\\.key}',
  ]);
  return Buffer.from(encoded, 'base64').toString();
}

async function patchSecret(tools: Tools, stringData: Readonly<Record<string, string>>): Promise<void> {
  const patch = JSON.stringify({ stringData });
  await tools.kubectl(['patch', 'secret', '-n', system, secret, '--type=merge', `--patch=${patch}`]);
}

/** Reason and message of the Chain's `MasterKeys`. */
async function condition(tools: Tools): Promise<readonly [string, string]> {
  const at = '{.status.conditions[?(@.type=="MasterKeys")]';
  const text = await tools.kubectl(['get', 'chain', 'dev', `-o=jsonpath=${at}.reason} ${at}.message}`]);
  const [reason = '', ...words] = text.split(' ');
  return [reason, words.join(' ')];
}
