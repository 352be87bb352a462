import { awaited, podsOf, release, rolledOut, system } from '../cluster.js';
import { pause, type World } from '../scenario.js';
import type { Tools } from '../tools.js';
import { startCustomers, tally } from './customers.js';
import { seconds, withLoad, type Scene } from './scene.js';

const database = `statefulset/${release}-postgres`;
const outageSeconds = 120;
const isUnavailable = (answer: string): boolean => answer.startsWith('error -32003 ');

/** PostgreSQL is away for two minutes and comes back with its data. */
export async function loseDatabase(world: World, scene: Scene): Promise<void> {
  const { report, tools, chain } = world;
  report.section(`PostgreSQL away for ${outageSeconds} s`);
  const customers = await startCustomers({
    devChain: chain.devChain,
    ...scene,
    version: '1.1.0',
    holdMs: 5_000,
  });
  let backAt = 0;
  await withLoad(
    world,
    scene,
    { name: 'JSON errors -32003 throughout, every pod stays in the Service', isExpected: isUnavailable },
    async () => {
      const before = await readyEndpoints(tools);
      await tools.kubectl(['scale', '-n', system, database, '--replicas=0']);
      const until = performance.now() + outageSeconds * 1000;
      let least = before;
      while (performance.now() < until) {
        least = Math.min(least, await readyEndpoints(tools));
        await pause(1);
      }
      if (least < before) throw new Error(`of ${before} ready endpoints ${least} were left`);
      await tools.kubectl(['scale', '-n', system, database, '--replicas=1']);
      await rolledOut(tools, database);
      backAt = performance.now();
      const first = await awaited('something is signed again', 60_000, () =>
        Promise.resolve(
          customers.asked.find(({ askedAt, answer }) => askedAt > backAt && answer === 'signed'),
        ),
      );
      await pause(5);
      return `${least} of ${before} endpoints ready throughout; signed again ${seconds(first.answeredAt - backAt)} after PostgreSQL was ready`;
    },
  );
  await customers.stop();
  await report.step('0 operations revert, and no call of a customer was without an answer', () => {
    const counts = tally(customers.asked);
    const wrong = Object.keys(counts).filter((key) => key !== 'mined' && !isUnavailable(key));
    if (wrong.length > 0) throw new Error(JSON.stringify(counts));
    return JSON.stringify(counts);
  });
  await report.step('the log of an rpc pod tells it by a few lines', async () => {
    const [pod = ''] = await podsOf(tools, 'rpc');
    const text = await tools.kubectl(['logs', '-n', system, pod, `--since=${outageSeconds + 60}s`]);
    const lines = text.trim().split('\n');
    if (lines.length > 60)
      throw new Error(`${lines.length} lines, ${text.length} bytes:\n${lines.slice(0, 20).join('\n')}`);
    return `${lines.length} lines, ${text.length} bytes in ${outageSeconds + 60} s`;
  });
}

async function readyEndpoints(tools: Tools): Promise<number> {
  const text = await tools.kubectl([
    'get',
    'endpointslices',
    '-n',
    system,
    `-l=kubernetes.io/service-name=${release}-rpc`,
    '-o=jsonpath={.items[*].endpoints[?(@.conditions.ready==true)].addresses[0]}',
  ]);
  return text.split(' ').filter((address) => address !== '').length;
}
