import { Interface, zeroPadValue, toBeHex } from 'ethers';
import {
  apiKeyOf,
  chainId,
  feeTokenOf,
  sponsoredAbi,
  sponsoredContract,
  sponsoredMethod,
  type Ask,
  type RequestShape,
} from './fixture.js';

/**
 * Builds requests as raw HTTP, ready to be written to a socket. The n-th request has a sender, nonce and callData that no
 * other has. A template is rendered once with marks of fixed width; each request is a copy with the marks overwritten,
 * so that hundreds of thousands can be prepared without the load process becoming the bottleneck.
 */
export function createRequestBuilder(shape: RequestShape): (id: number) => Buffer {
  const template = Buffer.from(renderTemplate(shape), 'latin1');
  const places = (['key', 'sender', 'nonce', 'data'] as const).flatMap((name) =>
    findAll(template, marks[name]).map((offset) => ({ name, offset })),
  );
  return (id) => {
    const request = Buffer.from(template);
    const tail = id.toString(16).padStart(12, '0');
    for (const { name, offset } of places) {
      // Spread by a prime, so that neighbours in time are not neighbours in any table.
      const text =
        name === 'key' ? apiKeyOf((shape.first ?? 0) + ((id * 7919) % shape.paymasters)).slice(-12) : tail;
      request.write(text, offset, 'latin1');
    }
    return request;
  };
}

// 12 hex digits each, which occur nowhere else in a request.
const marks = { key: 'aaaaaaaaaaa1', sender: 'bbbbbbbbbbb2', nonce: 'ccccccccccc3', data: 'ddddddddddd4' };

function renderTemplate({ calls, ask = 'sponsorship' }: RequestShape): string {
  const body = JSON.stringify({
    jsonrpc: '2.0',
    id: 1,
    method: ask.startsWith('quote') ? 'pm_getFeeQuoteOrData' : 'pm_sponsorUserOperation',
    params: [
      {
        sender: `0x${'51'.repeat(14)}${marks.sender}`,
        nonce: `0x${marks.nonce}`,
        initCode: '0x',
        callData: renderCallData(calls, ask === 'another contract' ? unregistered : sponsoredContract),
        callGasLimit: '0x30d40',
        verificationGasLimit: '0x249f0',
        preVerificationGas: '0xc350',
        maxFeePerGas: '0x77359400',
        maxPriorityFeePerGas: '0x3b9aca00',
        signature: `0x${'0'.repeat(130)}`,
        paymasterAndData: '0x',
      },
      {
        ...modeOf(ask),
        calculateGasLimits: false,
        expiryDuration: 300,
        sponsorshipInfo: { webhookData: {}, smartAccountInfo: { name: 'SimpleAccount', version: '0.6.0' } },
      },
    ],
  });
  const path = `/api/v2/${chainId}/${apiKeyOf(0).slice(0, -12)}${marks.key}`;
  return (
    `POST ${path} HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/json\r\n` +
    `content-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`
  );
}

function modeOf(ask: Ask): object {
  switch (ask) {
    case 'sponsorship':
    case 'another contract':
      return { mode: 'SPONSORED' };
    case 'quote of 1 token':
      return { mode: 'ERC20', tokenInfo: { tokenList: [feeTokenOf(0)] } };
    case 'quote of 20 tokens':
      return { mode: 'ERC20', tokenInfo: { tokenList: [] } };
    case 'token payment':
      return { mode: 'ERC20', tokenInfo: { feeTokenAddress: feeTokenOf(0) } };
    default:
      return ask satisfies never;
  }
}

const account = new Interface([
  'function execute(address dest, uint256 value, bytes func)',
  'function executeBatch(address[] dest, bytes[] func)',
]);

const unregistered = `0x${'9'.repeat(40)}`;

function renderCallData(calls: number, target: string): string {
  const word = zeroPadValue(`0x${marks.data}`, 32);
  const words = Array.from({ length: 8 }, (_, index) => (index === 0 ? word : toBeHex(index, 32)));
  const inner = new Interface(sponsoredAbi).encodeFunctionData(sponsoredMethod, words);
  if (calls === 1) return account.encodeFunctionData('execute', [target, 0, inner]);
  const targets = Array<string>(calls).fill(target);
  return account.encodeFunctionData('executeBatch', [targets, Array<string>(calls).fill(inner)]);
}

function findAll(buffer: Buffer, mark: string): number[] {
  const offsets: number[] = [];
  for (let at = buffer.indexOf(mark); at !== -1; at = buffer.indexOf(mark, at + 1)) offsets.push(at);
  if (offsets.length === 0) throw new Error(`the request template lacks the mark ${mark}`);
  return offsets;
}
