import type { ChildProcess } from 'node:child_process';
import type { E2eConfig } from './config.js';
import type { Tools } from './tools.js';
import type { RpcAnswer } from '../system/support/client.js';

/** A pod in the users' namespace that calls the Services as wallets in the cluster do. */
export type WalletPod = {
  /** One HTTP request with a JSON body, or none. */
  fetch(
    url: string,
    method: 'GET' | 'POST',
    headers: Readonly<Record<string, string>>,
    body?: unknown,
  ): Promise<HttpAnswer>;
  /** One JSON-RPC call through the Service. */
  call(url: string, method: string, params: readonly unknown[]): Promise<RpcAnswer>;
  /** Whether a TCP connection is accepted within three seconds. */
  reaches(host: string, port: number): Promise<boolean>;
  startLoad(url: string, contract: string): Load;
  /** For callers that ask all the time: one process in the pod for all their calls. */
  startCaller(): Caller;
};

export type Caller = {
  /** One JSON-RPC call; a connection that fails is an answer of status 0 with what happened. */
  call(url: string, method: string, params: readonly unknown[]): Promise<RpcAnswer>;
  stop(): Promise<void>;
};

export type HttpAnswer = {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: unknown;
};

export type LoadResult = {
  /** Answers by what they were: `sponsored`, or why not. */
  readonly counts: Readonly<Record<string, number>>;
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly maxMs: number;
};

export type Load = {
  /** Ends it once all pending requests are answered. */
  stop(): Promise<LoadResult>;
};

export const walletPodName = 'wallet';

export async function startWalletPod(
  tools: Tools,
  config: E2eConfig,
  namespace: string,
  nodeName: string,
): Promise<WalletPod> {
  const pod = {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: walletPodName, namespace },
    spec: {
      // Not on the node that is drained.
      nodeSelector: { 'kubernetes.io/hostname': nodeName },
      automountServiceAccountToken: false,
      securityContext: { runAsNonRoot: true, seccompProfile: { type: 'RuntimeDefault' } },
      containers: [
        {
          name: 'wallet',
          image: `${config.image.repository}:${config.image.tag}`,
          imagePullPolicy: 'IfNotPresent',
          args: ['--eval', "process.on('SIGTERM', () => process.exit(0)); setInterval(() => {}, 60_000)"],
          securityContext: {
            allowPrivilegeEscalation: false,
            readOnlyRootFilesystem: true,
            capabilities: { drop: ['ALL'] },
          },
        },
      ],
    },
  };
  await tools.kubectl(['apply', '-f', '-'], JSON.stringify(pod));
  await tools.kubectl([
    'wait',
    '-n',
    namespace,
    '--for=condition=Ready',
    `pod/${walletPodName}`,
    '--timeout=60s',
  ]);
  const exec = (script: string, args: readonly string[]): readonly string[] => [
    'exec',
    '-i',
    '-n',
    namespace,
    walletPodName,
    '--',
    'node',
    '--no-warnings',
    '--input-type=module',
    '--eval',
    script,
    ...args,
  ];
  const fetchInPod: WalletPod['fetch'] = async (url, method, headers, body) =>
    JSON.parse(
      await tools.kubectl(
        exec(fetchScript, [
          url,
          method,
          JSON.stringify({ 'content-type': 'application/json', ...headers }),
          ...(body === undefined ? [] : [JSON.stringify(body)]),
        ]),
      ),
    ) as HttpAnswer;
  return {
    fetch: fetchInPod,
    async call(url, method, params) {
      const answer = await fetchInPod(url, 'POST', {}, { jsonrpc: '2.0', id: 1, method, params });
      const body = answer.body as Pick<RpcAnswer, 'result' | 'error'>;
      return { status: answer.status, reason: answer.headers['x-sponsorship-reason'], ...body };
    },
    async reaches(host, port) {
      const answer = await tools.kubectl(exec(reachScript, [host, String(port)]));
      return answer.trim() === 'reached';
    },
    startCaller: () => startCaller(tools.startKubectl(exec(callerScript, []))),
    startLoad(url, contract) {
      const child = tools.startKubectl(exec(loadScript, [url, contract]));
      let stdout = '';
      let stderr = '';
      child.stdout?.on('data', (chunk: Buffer) => (stdout += chunk.toString()));
      child.stderr?.on('data', (chunk: Buffer) => (stderr += chunk.toString()));
      const closed = new Promise<void>((resolve) => child.once('close', () => resolve()));
      return {
        async stop() {
          child.stdin?.end();
          await closed;
          if (!stdout.includes('{')) throw new Error(`the load ended without a result: ${stderr || stdout}`);
          return JSON.parse(stdout) as LoadResult;
        },
      };
    },
  };
}

function startCaller(child: ChildProcess): Caller {
  const waiting = new Map<number, (answer: RpcAnswer) => void>();
  const closed = new Promise<void>((resolve) => child.once('close', () => resolve()));
  const fail = (text: string): RpcAnswer => ({
    status: 0,
    reason: undefined,
    error: { code: 0, message: text },
  });
  let next = 0;
  let partial = '';
  child.stdin?.on('error', () => {});
  child.stdout?.on('data', (chunk: Buffer) => {
    const lines = `${partial}${chunk.toString()}`.split('\n');
    partial = lines.pop() ?? '';
    for (const line of lines) {
      const { id, answer } = JSON.parse(line) as { readonly id: number; readonly answer: RpcAnswer };
      waiting.get(id)?.(answer);
      waiting.delete(id);
    }
  });
  void closed.then(() => waiting.forEach((resolve) => resolve(fail('the wallet pod has gone'))));
  return {
    call(url, method, params) {
      const id = (next += 1);
      child.stdin?.write(`${JSON.stringify({ id, url, method, params })}\n`);
      return new Promise((resolve) => waiting.set(id, resolve));
    },
    async stop() {
      child.stdin?.end();
      await closed;
    },
  };
}

const callerScript = `
import { createInterface } from 'node:readline';
const ask = async ({ id, url, method, params }) => {
  try {
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params });
    const response = await fetch(url, { method: 'POST', headers: { 'content-type': 'application/json' }, body, signal: AbortSignal.timeout(15_000) });
    return { status: response.status, reason: response.headers.get('x-sponsorship-reason') ?? undefined, ...(await response.json()) };
  } catch (error) {
    return { status: 0, error: { code: 0, message: String(error.cause?.code ?? error.name) } };
  }
};
for await (const line of createInterface({ input: process.stdin })) {
  const { id, ...call } = JSON.parse(line);
  ask(call).then((answer) => console.log(JSON.stringify({ id, answer })));
}
`;

const fetchScript = `
const [url, method, headers, body] = process.argv.slice(1);
const response = await fetch(url, { method, headers: JSON.parse(headers), body, signal: AbortSignal.timeout(15_000) });
console.log(JSON.stringify({ status: response.status, headers: Object.fromEntries(response.headers), body: await response.json() }));
`;

export const reachScript = `
import { connect } from 'node:net';
const [host, port] = process.argv.slice(1);
const end = (text) => { console.log(text); process.exit(0); };
connect(Number(port), host).once('connect', () => end('reached')).once('error', (error) => end(error.code));
setTimeout(() => end('no answer'), 3_000);
`;

/**
 * Fifty sponsorships a second: half over kept connections, half each over a new connection. The target may not
 * fail a single one, so nothing is tried again.
 */
const loadScript = `
import { request, Agent } from 'node:http';
import { randomBytes } from 'node:crypto';
const [url, contract] = process.argv.slice(1);
// Enough sockets for the slowest answers: a call that waited for one here would look like a slow server.
const kept = new Agent({ keepAlive: true, maxSockets: 512 });
const counts = {};
const times = [];
let open = 0;
let isEnding = false;
process.stdin.resume();
process.stdin.once('end', () => { isEnding = true; });
const word = (value) => value.toString(16).padStart(64, '0');
const callData = '0xb61d27f6' + '0'.repeat(24) + contract.slice(2).toLowerCase() + word(0n) + word(96n) + word(4n) + 'd09de08a'.padEnd(64, '0');
const op = () => ({ sender: '0x' + randomBytes(20).toString('hex'), nonce: '0x0', initCode: '0x', callData, callGasLimit: '100000', verificationGasLimit: '150000', preVerificationGas: '60000', maxFeePerGas: '0x77359400', maxPriorityFeePerGas: '0x3b9aca00' });
const count = (key) => { counts[key] = (counts[key] ?? 0) + 1; };
const ask = (agent) => new Promise((resolve) => {
  const startedAt = performance.now();
  const end = (key) => { times.push(performance.now() - startedAt); count(key); resolve(); };
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'pm_sponsorUserOperation', params: [op(), { mode: 'SPONSORED' }] });
  const outgoing = request(url, { method: 'POST', agent, timeout: 10_000, headers: { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) } }, (response) => {
    let text = '';
    response.on('data', (chunk) => (text += chunk));
    response.on('error', (error) => end('connection ' + error.code));
    response.on('end', () => {
      try {
        const answer = JSON.parse(text);
        if (answer.error) end('error ' + answer.error.code + ' ' + (answer.error.data?.reason ?? answer.error.message));
        else end(answer.result.paymasterAndData === '0x' ? 'refused ' + response.headers['x-sponsorship-reason'] : 'sponsored');
      } catch { end('HTTP ' + response.statusCode); }
    });
  });
  outgoing.on('timeout', () => outgoing.destroy(Object.assign(new Error(), { code: 'timeout' })));
  outgoing.on('error', (error) => end((agent === kept ? 'kept' : 'new') + ' connection ' + error.code));
  outgoing.end(body);
});
let turn = 0;
const timer = setInterval(() => {
  if (isEnding) {
    if (open > 0) return;
    clearInterval(timer);
    times.sort((a, b) => a - b);
    const at = (share) => Math.round(times[Math.min(times.length - 1, Math.floor(times.length * share))] * 10) / 10;
    console.log(JSON.stringify({ counts, p50Ms: at(0.5), p99Ms: at(0.99), maxMs: at(1) }));
    process.exit(0);
  }
  open += 1;
  ask(turn++ % 2 === 0 ? kept : undefined).finally(() => { open -= 1; });
}, 20);
`;
