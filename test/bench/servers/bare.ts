import type { IncomingMessage, ServerResponse } from 'node:http';
import { createKeccak } from 'hash-wasm';
import {
  chainId,
  expirySeconds,
  fundingAddress,
  paymaster,
  signerKey,
  sponsoredContract,
} from '../fixture.js';
import { serveSubject } from './subject.js';
import { loadNativeCurve } from '../../../adapters/signer/curve.js';

const curve = await loadNativeCurve();
const keccak = await createKeccak(256);
const hash = (bytes: Uint8Array) => keccak.init().update(bytes).digest('binary');

const key = Buffer.from(signerKey.slice(2), 'hex');
const personalPrefix = Buffer.from('\x19Ethereum Signed Message:\n32', 'latin1');
const batchSize = 32;

export type WireOperation = Readonly<Record<string, string>>;
/** An operation that is signed when its turn is kept. */
export type Waiting = {
  readonly digest: Uint8Array;
  readonly op: WireOperation;
  readonly validity: string;
  readonly response: ServerResponse;
};
let queue: Waiting[] = [];
let keep: (turn: readonly Waiting[]) => void = () => {};

/**
 * Bare node:http, JSON.parse, the vendor 1.1.0 hash written straight from the request's hex, the native library, one micro-batch per turn
 * of the event loop, an answer of the same size as ours. No authentication, validation, policy or metric. `keepTurn` is called with each
 * batch before it is signed.
 */
export function serveBare(keepTurn: (turn: readonly Waiting[]) => void): Promise<void> {
  keep = keepTurn;
  return serveSubject(listener);
}

function listener(request: IncomingMessage, response: ServerResponse): void {
  const chunks: Buffer[] = [];
  request.on('data', (chunk: Buffer) => chunks.push(chunk));
  request.on('end', () => {
    const only = chunks.length === 1 ? chunks[0] : Buffer.concat(chunks);
    const body = JSON.parse((only ?? Buffer.alloc(0)).toString()) as { params: [WireOperation] };
    accept(body.params[0], response);
  });
}

function accept(op: WireOperation, response: ServerResponse): void {
  if (!isSponsored(op['callData'])) return refuse(response);
  const now = Math.floor(Date.now() / 1000);
  const validity = word(now + expirySeconds) + word(now - 60);
  const struct = Buffer.from(
    pad(op['sender']) +
      pad(op['nonce']) +
      hashHex(op['initCode']) +
      hashHex(op['callData']) +
      pad(op['callGasLimit']) +
      pad(op['verificationGasLimit']) +
      pad(op['preVerificationGas']) +
      pad(op['maxFeePerGas']) +
      pad(op['maxPriorityFeePerGas']) +
      constants +
      validity,
    'hex',
  );
  // Hashed before the next one begins, because there is only one hash engine.
  const structHash = hash(struct);
  const digest = keccak.init().update(personalPrefix).update(structHash).digest('binary');
  sign({ digest, op, validity, response });
}

function sign(waiting: Waiting): void {
  queue.push(waiting);
  if (queue.length === 1) setImmediate(flush);
}

function flush(): void {
  const batch = queue.splice(0, batchSize);
  if (queue.length > 0) setImmediate(flush);
  keep(batch);
  const signed = batch.map(({ digest }) => Buffer.from(curve.sign(digest, key)).toString('hex'));
  for (const [index, { op, validity, response }] of batch.entries()) {
    answer(op, validity, signed[index] ?? '', response);
  }
}

function answer(op: WireOperation, validity: string, signed: string, response: ServerResponse): void {
  const data = `${dataHead}${validity}${dataMiddle}${signed}${dataTail}`;
  const body =
    `{"jsonrpc":"2.0","id":1,"result":{"mode":"SPONSORED","MODE":"SPONSORED","paymasterAndData":"${data}",` +
    `"preVerificationGas":"${Number(op['preVerificationGas'])}","verificationGasLimit":${Number(op['verificationGasLimit'])},` +
    `"callGasLimit":${Number(op['callGasLimit'])}}}`;
  response.writeHead(200, [...headers, 'Content-Length', body.length]);
  response.end(body);
}

/** `execute` of the one contract, in any method. */
function isSponsored(callData = ''): boolean {
  return callData.startsWith('0xb61d27f6') && callData.slice(34, 74).toLowerCase() === target;
}

function refuse(response: ServerResponse): void {
  response.writeHead(200, [...headers, 'Content-Length', refusal.length]);
  response.end(refusal);
}

const target = sponsoredContract.slice(2).toLowerCase();
const refusal = '{"jsonrpc":"2.0","id":1,"result":{"paymasterAndData":"0x"}}';
// As many bytes of headers as a service that browsers call has to send.
const headers = [
  'Content-Type',
  'application/json',
  'X-Request-Id',
  '00000000-0000-4000-8000-000000000000',
  'Access-Control-Allow-Origin',
  '*',
  'Access-Control-Expose-Headers',
  'X-Sponsorship-Reason, X-Request-Id, Retry-After',
];
const constants = word(chainId) + pad(paymaster) + pad(fundingAddress);
const dataHead = `${paymaster.toLowerCase()}${pad(fundingAddress).toLowerCase()}`;
const dataMiddle = word(128) + word(65);
const dataTail = '00'.repeat(31);

function pad(hex = '0x'): string {
  return hex.slice(2).padStart(64, '0');
}

function word(value: number): string {
  return value.toString(16).padStart(64, '0');
}

function hashHex(hex = '0x'): string {
  const digest = hash(Buffer.from(hex.slice(2), 'hex'));
  return Buffer.from(digest.buffer, digest.byteOffset, 32).toString('hex');
}
