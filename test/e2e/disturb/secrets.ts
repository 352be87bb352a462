import { opsPort } from '../chart.js';
import { awaited, podsOf, system, tenant } from '../cluster.js';
import { connectionUrl, makeSecret, pause, type World } from '../scenario.js';
import type { Tools } from '../tools.js';
import { startCustomers } from './customers.js';
import { seconds, withLoad, type Scene } from './scene.js';

/**
 * The Secret that wallets read their URL from. Serving does not depend on it; that it is written again is looked at by the function that
 * this resolves with, much later, so that nobody waits for it.
 */
export async function deleteConnectionSecret(world: World, scene: Scene): Promise<() => Promise<void>> {
  const { report, tools } = world;
  report.section('A connection Secret deleted');
  const name = ['secret', '-n', tenant, 'shop-connection'];
  let deletedAt = 0;
  await withLoad(world, scene, { name: '0 failed calls while it is away' }, async () => {
    await tools.kubectl(['delete', ...name]);
    deletedAt = performance.now();
    await pause(10);
    return 'its paymaster is served';
  });
  return () =>
    report.step('the deleted connection Secret is written again, with the same URL', async () => {
      const left = Math.max(1_000, restoredMs - (performance.now() - deletedAt));
      const createdAt = await awaited('the Secret is there again', left, async () => {
        const { stdout } = await tools.tryKubectl([
          'get',
          ...name,
          '-o=jsonpath={.metadata.creationTimestamp}',
        ]);
        return stdout === '' ? undefined : Date.parse(stdout);
      });
      if ((await connectionUrl(tools)) !== scene.url) throw new Error('it holds another URL');
      return `${seconds(createdAt - (performance.timeOrigin + deletedAt))} after it was deleted`;
    });
}

/** The operator looks at each Secret that it wrote every five to ten minutes, because it gets no event when one is deleted. */
const restoredMs = 11 * 60_000;

/** The signing keys are gone for a while: an answer, not an outage of the Service. `keys`: the Secret's content, which is put back. */
export async function deleteSigners(
  world: World,
  scene: Scene,
  keys: Readonly<Record<string, string>>,
): Promise<void> {
  const { report, tools, chain } = world;
  report.section('The Secret of the signing keys deleted');
  const { devChain } = chain;
  const customers = await startCustomers({ devChain, ...scene, version: '1.1.0', holdMs: 0 });
  await withLoad(
    world,
    scene,
    { name: 'JSON errors while no key is mounted', isExpected: (answer) => /^error -3200[36] /.test(answer) },
    async () => {
      await tools.kubectl(['delete', 'secret', '-n', system, 'paymaster-signers']);
      const deletedAt = performance.now();
      const refused = await awaited('calls are refused', mountedMs, () =>
        Promise.resolve(customers.asked.find(({ answer }) => answer.startsWith('error '))),
      );
      await pause(20);
      await makeSecret(tools, 'paymaster-signers', keys);
      const restoredAt = performance.now();
      const signed = await awaited('something is signed again', mountedMs, () =>
        Promise.resolve(
          customers.asked.findLast(
            ({ answer }, index, all) => answer === 'signed' && index > all.indexOf(refused),
          ),
        ),
      );
      await awaited('every replica has read its keys', mountedMs, async () =>
        (await haveSigners(tools)) ? true : undefined,
      );
      const everywhere = performance.now() - restoredAt;
      return `${refused.answer} ${seconds(refused.answeredAt - deletedAt)} after the deletion; signed again ${seconds(signed.answeredAt - restoredAt)} after it was restored, by every replica after ${seconds(everywhere)}`;
    },
  );
  await customers.stop();
}

/** The kubelet brings a changed Secret to pods within two minutes, and a signer file is read again soon after. */
const mountedMs = 240_000;

/** Whether every rpc pod has the keys of all profiles. Kubelets bring them to pods at different times. */
async function haveSigners(tools: Tools): Promise<boolean> {
  const script = `fetch('http://127.0.0.1:${opsPort}/readyz').then((answer) => answer.json())
    .then(({ checks }) => console.log(checks.find(({ name }) => name === 'signers').ready))`;
  const found = await Promise.all(
    (await podsOf(tools, 'rpc')).map((pod) =>
      tools.tryKubectl(['exec', '-n', system, pod, '--', 'node', '-e', script]),
    ),
  );
  return found.every(({ stdout }) => stdout.trim() === 'true');
}
