import { opsPort } from '../chart.js';
import { awaited, podsOf, system, tenant } from '../cluster.js';
import { connectionUrl, makeSecret, pause, type World } from '../scenario.js';
import type { Tools } from '../tools.js';
import { startCustomers } from './customers.js';
import { seconds, withLoad, type Scene } from './scene.js';

/** The Secret that wallets read their URL from, and the RoleBindings of the namespace. Serving does not depend on them. */
export async function deleteWrittenObjects(world: World, scene: Scene): Promise<void> {
  const { report, tools } = world;
  report.section('A connection Secret and the RoleBindings deleted');
  const names = [
    'secret/shop-connection',
    'rolebinding/paymaster-dashboard',
    'rolebinding/paymaster-connection-secrets',
  ];
  await withLoad(world, scene, { name: '0 failed calls, and all are back within 30 s' }, async () => {
    await tools.kubectl(['delete', '-n', tenant, ...names]);
    const deletedAt = performance.now();
    await awaited(`${names.join(', ')} are there again`, 30_000, async () =>
      (await tools.tryKubectl(['get', '-n', tenant, ...names])).code === 0 ? true : undefined,
    );
    const after = seconds(performance.now() - deletedAt);
    if ((await connectionUrl(tools)) !== scene.url) throw new Error('the Secret holds another URL');
    return `after ${after}`;
  });
}

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
