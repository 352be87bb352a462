import { execFile } from 'node:child_process';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { aProfileConfig, someChainId, someVersions } from '../build/configs.js';
import { anOperation } from '../build/operations.js';
import { repositoryRoot } from '../support/repository-root.js';
import { rpcPath } from '../build/rpc.js';
import { useRpc } from '../support/use-rpc.js';

// The published check of ERC-7677 services, `clients/conformance`: this service passes, and one that does anything else is told so.

const host = useRpc();
let broken: Server | undefined;
beforeEach(() => host.put({ sponsor: { name: 'My Shop', icon: 'data:image/png;base64,AAAA' } }));
afterEach(() => void broken?.close());

type Row = {
  readonly check: string;
  readonly results: readonly { readonly result: string; readonly detail?: string }[];
};

/** `{ code, stdout, stderr }` of the program. */
function run(...args: readonly string[]) {
  return new Promise<{ readonly code: unknown; readonly stdout: string; readonly stderr: string }>(
    (resolve) => {
      const program = join(repositoryRoot, 'clients/conformance/main.mjs');
      execFile(process.execPath, [program, ...args], (error, stdout, stderr) =>
        resolve({ code: error?.code ?? 0, stdout, stderr }),
      );
    },
  );
}

const { sender, callData } = anOperation();
const asked = (version: string) => [
  '--chain-id',
  String(someChainId),
  '--entry-point',
  aProfileConfig(version).entryPoint,
  '--sender',
  String(sender),
  '--call-data',
  String(callData),
];
const path = () => `${host.origin}${rpcPath()}`;

describe.each(someVersions)('version %s', (version) => {
  test('does all that is asked', async () => {
    await host.put({ version });
    const { code, stdout, stderr } = await run(path(), ...asked(version));
    expect([code, stderr, stdout]).toEqual([0, '', expect.not.stringContaining('NO')]);
  });
});

type Answer = Record<string, unknown>;
type Fault = {
  readonly check: string;
  readonly version?: string;
  readonly change: (answer: Answer, request: Answer) => unknown;
};
const ofResult =
  (method: string, change: (result: Answer) => Answer): Fault['change'] =>
  (answer, request) =>
    request['method'] === method && answer['result'] !== undefined
      ? { ...answer, result: change(answer['result'] as Answer) }
      : answer;
const stub = 'pm_getPaymasterStubData';
const data = 'pm_getPaymasterData';
const longer = (value: unknown) => `${String(value)}ff`;
const faults: readonly Fault[] = [
  { check: 'the stub has the fields of the EntryPoint', change: ofResult(stub, () => ({ paymaster: '0x' })) },
  {
    check: 'the data have the fields of the EntryPoint',
    change: ofResult(data, () => ({ paymasterAndData: '0x' })),
  },
  {
    check: 'the stub is answered for an operation without gas limits',
    change: (answer, { params }) =>
      (params as readonly Answer[] | undefined)?.[0]?.['callGasLimit'] === undefined &&
      answer['result'] !== undefined
        ? { id: answer['id'], error: { code: -32602, message: 'callGasLimit is missing' } }
        : answer,
  },
  {
    check: 'the stub has a limit for postOp',
    version: '2.0.0',
    change: ofResult(stub, ({ paymasterPostOpGasLimit: _limit, ...rest }) => rest),
  },
  {
    check: 'the stub is as long as the data',
    change: ofResult(stub, (result) => ({ ...result, paymasterAndData: longer(result['paymasterAndData']) })),
  },
  {
    check: 'the stub has no more zero bytes than the data',
    change: ofResult(stub, (result) => ({
      ...result,
      paymasterAndData: `0x${'00'.repeat((String(result['paymasterAndData']).length - 2) / 2)}`,
    })),
  },
  {
    check: 'limits of the request are kept, or all that were signed are answered',
    change: ofResult(data, (result) => ({ ...result, callGasLimit: '0x1' })),
  },
  {
    check: 'a sponsor has a name, and its icon is a data URI',
    change: ofResult(data, (result) => ({
      ...result,
      sponsor: { name: 'x', icon: 'https://example.com/x.png' },
    })),
  },
  { check: 'another chain is an error', change: (answer) => ({ ...answer, error: undefined, result: {} }) },
  {
    check: 'an address that is no EntryPoint is an error',
    change: ({ error: _error, ...answer }) => ({ ...answer, result: {} }),
  },
  {
    check: 'an operation without a sender is an error',
    change: (answer) => ('error' in answer ? 'no' : answer),
  },
  {
    check: 'an unknown method is error -32601',
    change: (answer, { method }) => (method === 'pm_thereIsNoSuchMethod' ? { result: null } : answer),
  },
  {
    check: 'a body that is not JSON is error -32700',
    change: (answer, request) => ('method' in request ? answer : 'oops'),
  },
  {
    check: 'the id of the request is in the answer, with its type',
    change: (answer) => ({ ...answer, id: String(answer['id']) }),
  },
];

/** The service, with its answers changed. */
async function startBroken(
  change: Fault['change'],
  headers: object = { 'access-control-allow-origin': '*' },
): Promise<string> {
  const target = path();
  broken = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const body = Buffer.concat(chunks).toString();
      void fetch(target, { method: 'POST', headers: { 'content-type': 'application/json' }, body })
        .then((answer) => answer.json())
        .then((answer) => {
          response.writeHead(200, { 'content-type': 'application/json', ...headers });
          response.end(JSON.stringify(change(answer as Answer, requestOf(body))));
        });
    });
  });
  await new Promise<void>((resolve) => broken?.listen(0, '127.0.0.1', resolve));
  return `http://127.0.0.1:${(broken.address() as AddressInfo).port}`;
}

function requestOf(body: string): Answer {
  try {
    return JSON.parse(body) as Answer;
  } catch {
    return {};
  }
}

async function failedOf(url: string, version: string): Promise<readonly string[]> {
  const { code, stdout } = await run(url, '--json', ...asked(version));
  expect(code).toBe(1);
  const rows = JSON.parse(stdout) as readonly Row[];
  return rows
    .filter(({ results }) => results.some(({ result }) => result === 'failed'))
    .map(({ check }) => check);
}

describe('a service that does something else is told so', () => {
  test.each(faults)('$check', async ({ check, change, version = '1.1.0' }) => {
    await host.put({ version });
    expect(await failedOf(await startBroken(change), version)).toContain(check);
  });

  test('a page may read the answer', async () => {
    expect(await failedOf(await startBroken((answer) => answer, {}), '1.1.0')).toEqual([
      'a page may read the answer',
    ]);
  });

  test('as it is behind the same proxy, it passes', async () => {
    const { code } = await run(await startBroken((answer) => answer), ...asked('1.1.0'));
    expect(code).toBe(0);
  });

  test('a table names what failed, with what was answered instead', async () => {
    await host.put({ suspended: true });
    const { code, stdout } = await run(path(), ...asked('1.1.0'));
    expect([code, stdout]).toEqual([
      1,
      expect.stringMatching(
        /the stub has the fields of the EntryPoint +NO\n[^]*0\.6: the stub has the fields[^]*SUSPENDED/,
      ),
    ]);
  });
});

describe('bad input', () => {
  test.each([
    [[], 'one URL is needed, got none'],
    [['http://127.0.0.1:1'], '--chain-id must be a number, got nothing'],
    [['http://127.0.0.1:1', '--chain-id', 'mainnet'], '--chain-id must be a number, got mainnet'],
    [['http://127.0.0.1:1', '--chain-id', '1', '--sender', '0x1'], '--sender must be an address, got "0x1"'],
    [['http://127.0.0.1:1', '--chain-id', '1', '--context', '[]'], '--context must be a JSON object'],
    [
      ['http://127.0.0.1:1', '--chain-id', '1', '--call-data', '0x1'],
      '--call-data must be whole bytes as 0x hex',
    ],
    [['http://127.0.0.1:1', '--chain-id', '1', '--nonsense'], "Unknown option '--nonsense'"],
    [['http://127.0.0.1:1', '--chain-id', '1'], 'does not answer'],
  ])('%j ends with 2 and says what is wrong', async (args, message) => {
    const { code, stderr } = await run(...args);
    expect([code, stderr]).toEqual([2, expect.stringContaining(message)]);
  });
});
