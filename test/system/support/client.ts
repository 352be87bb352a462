import { randomBytes } from 'node:crypto';
import { encodeFunctionData, parseAbi } from 'viem';
import type { Connection } from '../../../standalone/connection.js';
import type { Hex } from '../../../core/units/hex.js';
import type { FinalUserOperation } from '../../../core/entry-point/user-operation.js';

/** Answer of one JSON-RPC call, with its HTTP status. */
export type RpcAnswer = {
  readonly status: number;
  readonly reason: string | undefined;
  readonly result?: Record<string, unknown>;
  readonly error?: {
    readonly code: number;
    readonly message: string;
    readonly data?: Record<string, unknown>;
  };
};

/** A test that blocks its process for a while does not notice that an idle connection was closed, and would reuse it. */
const oneConnectionEach = { connection: 'close' };

export async function rpc(
  url: string,
  method: string,
  params: readonly unknown[],
  headers: Readonly<Record<string, string>> = {},
): Promise<RpcAnswer> {
  const response = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...oneConnectionEach, ...headers },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
    signal: AbortSignal.timeout(60_000),
  });
  const body = (await readJson(response)) as Pick<RpcAnswer, 'result' | 'error'>;
  return {
    status: response.status,
    reason: response.headers.get('x-sponsorship-reason') ?? undefined,
    ...body,
  };
}

/** The store had no time for the call, of which nothing has happened: on a busy machine any call may have to wait too long. */
function isBusy({ error }: RpcAnswer): boolean {
  return ['USAGE_STORE_BUSY', 'USAGE_STORE_DOWN'].includes(String(error?.data?.['reason']));
}

/** Bounds a hang. */
const maxTries = 100;

/** As wallets do, asks again where the store had no time for the call. */
export async function unlessBusy(call: () => Promise<RpcAnswer>): Promise<RpcAnswer> {
  for (let tries = 1; ; tries++) {
    const answer = await call();
    if (!isBusy(answer) || tries === maxTries) return answer;
  }
}

async function readJson(response: Response): Promise<unknown> {
  const text = await response.text();
  try {
    return JSON.parse(text);
  } catch {
    throw new Error(`HTTP ${response.status} without JSON: ${JSON.stringify(text.slice(0, 200))}`);
  }
}

/** Answer of one dashboard call: HTTP status, envelope and headers. */
export type DashboardAnswer = {
  readonly status: number;
  readonly body: { readonly statusCode: number; readonly message: string; readonly data?: unknown };
  readonly programmed: string | null;
};

export async function dashboard(
  { dashboardUrl, authToken }: Pick<Required<Connection>, 'dashboardUrl' | 'authToken'>,
  method: string,
  path: string,
  options: { readonly apiKey?: string; readonly body?: unknown } = {},
): Promise<DashboardAnswer> {
  const response = await fetch(`${dashboardUrl}/api/v2/public/sdk${path}`, {
    method,
    headers: {
      authToken,
      ...oneConnectionEach,
      ...(options.apiKey === undefined ? {} : { apiKey: options.apiKey }),
      ...(options.body === undefined ? {} : { 'content-type': 'application/json' }),
    },
    ...(options.body === undefined ? {} : { body: JSON.stringify(options.body) }),
    signal: AbortSignal.timeout(60_000),
  });
  const body = (await readJson(response)) as DashboardAnswer['body'];
  return { status: response.status, body, programmed: response.headers.get('x-programmed') };
}

/** Same instance, another paymaster. */
export function rpcUrlFor(
  connection: Pick<Required<Connection>, 'dashboardUrl' | 'chainId'>,
  apiKey: string,
): string {
  return `${connection.dashboardUrl}/api/v1/${connection.chainId}/${apiKey}`;
}

const execute = parseAbi(['function execute(address dest, uint256 value, bytes func)']);

/** A partial operation of a sender that nobody used before, calling the sponsored contract once. */
export function freshUserOp(
  connection: Pick<Required<Connection>, 'sponsoredContract'>,
): Record<string, string> {
  const { address } = connection.sponsoredContract;
  return {
    sender: `0x${randomBytes(20).toString('hex')}`,
    nonce: '0x0',
    initCode: '0x',
    callData: encodeFunctionData({
      abi: execute,
      args: [address as Hex, 0n, '0xd09de08a'],
    }),
    callGasLimit: '100000',
    verificationGasLimit: '150000',
    preVerificationGas: '60000',
    maxFeePerGas: '0x77359400',
    maxPriorityFeePerGas: '0x3b9aca00',
  };
}

/** A final operation in the wire form that clients send: hex fees, decimal limits. */
export function toWire(op: FinalUserOperation): Record<string, string> {
  return {
    sender: op.sender,
    nonce: `0x${op.nonce.toString(16)}`,
    initCode: op.initCode,
    callData: op.callData,
    callGasLimit: op.callGasLimit.toString(),
    verificationGasLimit: op.verificationGasLimit.toString(),
    preVerificationGas: op.preVerificationGas.toString(),
    maxFeePerGas: `0x${op.maxFeePerGas.toString(16)}`,
    maxPriorityFeePerGas: `0x${op.maxPriorityFeePerGas.toString(16)}`,
    signature: '0x',
    paymasterAndData: '0x',
  };
}
