import { awaited, podsOf, release, rolledOut, system } from '../cluster.js';
import { pause, type World } from '../scenario.js';
import type { Tools } from '../tools.js';
import { startCustomers, tally } from './customers.js';
import { seconds, withLoad, type Scene } from './scene.js';

const redis = `statefulset/${release}-redis`;
const outageSeconds = 120;
const isUnavailable = (answer: string): boolean => answer.startsWith('error -32003 ');

/** Redis is away for two minutes and comes back with its data. */
export async function loseRedis(world: World, scene: Scene): Promise<void> {
  const { report, tools, chain } = world;
  report.section(`Redis away for ${outageSeconds} s`);
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
      await tools.kubectl(['scale', '-n', system, redis, '--replicas=0']);
      const until = performance.now() + outageSeconds * 1000;
      let least = before;
      while (performance.now() < until) {
        least = Math.min(least, await readyEndpoints(tools));
        await pause(1);
      }
      if (least < before) throw new Error(`of ${before} ready endpoints ${least} were left`);
      await tools.kubectl(['scale', '-n', system, redis, '--replicas=1']);
      await rolledOut(tools, redis);
      backAt = performance.now();
      const first = await awaited('something is signed again', 60_000, () =>
        Promise.resolve(
          customers.asked.find(({ askedAt, answer }) => askedAt > backAt && answer === 'signed'),
        ),
      );
      await pause(5);
      return `${least} of ${before} endpoints ready throughout; signed again ${seconds(first.answeredAt - backAt)} after Redis was ready`;
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

/** Redis has no room for one more promise, until what filled it is gone. */
export async function fillRedis(world: World, scene: Scene): Promise<void> {
  const { report, tools, chain } = world;
  report.section('Redis filled to maxmemory');
  const customers = await startCustomers({
    devChain: chain.devChain,
    ...scene,
    version: '1.1.0',
    holdMs: 20_000,
  });
  const full = 'error -32003 USAGE_STORE_FULL';
  await withLoad(
    world,
    scene,
    { name: 'calls are refused with the reason while it is full', isExpected: (answer) => answer === full },
    async () => {
      const [pod = ''] = await podsOf(tools, 'rpc');
      await pause(5);
      const filled = await inPod(tools, pod, fillScript);
      const filledAt = performance.now();
      await awaited('a call is refused for it', 30_000, () =>
        Promise.resolve(customers.asked.find(({ answer }) => answer === full)),
      );
      await pause(20);
      const settled = customers.asked.filter(({ fate }) => fate === 'mined').length;
      const emptied = performance.now();
      await inPod(tools, pod, emptyScript);
      const first = await awaited('something is signed again', 60_000, () =>
        Promise.resolve(
          customers.asked.find(({ askedAt, answer }) => askedAt > emptied && answer === 'signed'),
        ),
      );
      await pause(5);
      return `${filled.trim()}, full for ${seconds(emptied - filledAt)}, ${settled} mined by then; signed again after ${seconds(first.answeredAt - emptied)}`;
    },
  );
  await customers.stop();
  await report.step('0 operations revert', () => {
    const counts = tally(customers.asked);
    const wrong = Object.keys(counts).filter((key) => key !== 'mined' && key !== full);
    if (wrong.length > 0) throw new Error(JSON.stringify(counts));
    return JSON.stringify(counts);
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

function inPod(tools: Tools, pod: string, script: string): Promise<string> {
  const args = ['node', '--input-type=module', '--eval', script, `${release}-redis`];
  return tools.kubectl(['exec', '-n', system, pod, '--', ...args]);
}

/** From an rpc pod, which may connect to it: the image of Redis need not have a client. */
const clientScript = `
import { connect } from 'node:net';
const socket = connect(6379, process.argv[1]);
const encode = (...words) => '*' + words.length + '\\r\\n' + words.map((word) => '$' + Buffer.byteLength(word) + '\\r\\n' + word + '\\r\\n').join('');
const ask = (...words) => new Promise((resolve, reject) => { socket.once('data', (data) => resolve(data.toString())); socket.once('error', reject); socket.write(encode(...words)); });
`;

/** Big values first, then small ones, so that it is full to the last kilobyte. */
const fillScript = `${clientScript}
let count = 0;
for (const size of [1 << 20, 1 << 16, 1 << 12, 1 << 8]) {
  const value = 'x'.repeat(size);
  while ((await ask('SET', 'e2e:fill:' + count, value)).startsWith('+OK')) count += 1;
}
console.log(count + ' keys');
socket.end();
`;

const emptyScript = `${clientScript}
for (let index = 0; ; index += 1) if ((await ask('DEL', 'e2e:fill:' + index)).startsWith(':0')) break;
socket.end();
`;
