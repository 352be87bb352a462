import type { Block, BlockTag, CallRequest, Log, LogFilter, Transaction } from '../../core/chain/chain.js';
import { quote } from '../../core/errors.js';
import { hexQuantity, isHexBytes, type Hex } from '../../core/units/hex.js';

const quantityPattern = /^0x[0-9a-fA-F]{1,64}$/;

/** An answer of a node that is not what the method promises; `what` names method and field. */
export class MalformedAnswer extends Error {
  constructor(what: string, value: unknown) {
    super(`${what}, got ${quote(value)}`);
    this.name = 'MalformedAnswer';
  }
}

/** Block parameter; a hash becomes the EIP-1898 object. */
export function toBlockParameter(tag: BlockTag = 'latest'): unknown {
  if (typeof tag === 'number') return hexQuantity(tag);
  return typeof tag === 'string' ? tag : { blockHash: tag.hash };
}

/** Parameters of `eth_call`: call, block, and state overrides only if there are any (some nodes refuse a third one). */
export function toCallParams(request: CallRequest): readonly unknown[] {
  const { to, data, from, value, gas, block, overrides } = request;
  const call = {
    to,
    data,
    ...(from === undefined ? {} : { from }),
    ...(value === undefined ? {} : { value: hexQuantity(value) }),
    ...(gas === undefined ? {} : { gas: hexQuantity(gas) }),
  };
  const params: unknown[] = [call, toBlockParameter(block)];
  if (overrides !== undefined)
    params.push(
      Object.fromEntries(
        Object.entries(overrides).map(([address, { code, balance, stateDiff }]) => [
          address,
          {
            ...(code === undefined ? {} : { code }),
            ...(balance === undefined ? {} : { balance: hexQuantity(balance) }),
            ...(stateDiff === undefined ? {} : { stateDiff }),
          },
        ]),
      ),
    );
  return params;
}

export function toLogFilter({ address, topics, ...blocks }: LogFilter): unknown {
  return {
    ...('blockHash' in blocks
      ? blocks
      : { fromBlock: hexQuantity(blocks.fromBlock), toBlock: hexQuantity(blocks.toBlock) }),
    ...(address === undefined ? {} : { address }),
    ...(topics === undefined ? {} : { topics }),
  };
}

export function parseQuantity(value: unknown, what: string): bigint {
  if (typeof value !== 'string' || !quantityPattern.test(value))
    throw new MalformedAnswer(`${what} must be a hex quantity`, value);
  return BigInt(value);
}

export function parseSafeInteger(value: unknown, what: string): number {
  const quantity = parseQuantity(value, what);
  if (quantity > BigInt(Number.MAX_SAFE_INTEGER))
    throw new MalformedAnswer(`${what} must be below 2^53`, value);
  return Number(quantity);
}

/** Byte string of `bytes` bytes (any length when undefined), in lowercase. */
export function parseHex(value: unknown, what: string, bytes?: number): Hex {
  if (!isHexBytes(value) || (bytes !== undefined && value.length !== 2 + 2 * bytes))
    throw new MalformedAnswer(`${what} must be ${bytes ?? 'whole'} bytes of hex`, value);
  return `0x${value.slice(2).toLowerCase()}`;
}

/** Undefined for `null`, which nodes answer for a block that they do not have. */
export function parseBlock(value: unknown): Block | undefined {
  if (value === null) return undefined;
  const block = parseRecord(value, 'block');
  return {
    number: parseSafeInteger(block['number'], 'block.number'),
    hash: parseHex(block['hash'] ?? `0x${'00'.repeat(32)}`, 'block.hash', 32),
    parentHash: parseHex(block['parentHash'], 'block.parentHash', 32),
    timestamp: parseSafeInteger(block['timestamp'], 'block.timestamp'),
    // Chains without EIP-1559 have none.
    baseFeePerGas: parseQuantity(block['baseFeePerGas'] ?? '0x0', 'block.baseFeePerGas'),
  };
}

export function parseLogs(value: unknown): readonly Log[] {
  if (!Array.isArray(value)) throw new MalformedAnswer('logs must be an array', value);
  return value.map((entry: unknown) => {
    const log = parseRecord(entry, 'log');
    const topics: unknown = log['topics'];
    if (!Array.isArray(topics)) throw new MalformedAnswer('log.topics must be an array', topics);
    return {
      address: parseHex(log['address'], 'log.address', 20),
      topics: topics.map((topic: unknown) => parseHex(topic, 'log.topics', 32)),
      data: parseHex(log['data'], 'log.data'),
      blockNumber: parseSafeInteger(log['blockNumber'], 'log.blockNumber'),
      blockHash: parseHex(log['blockHash'], 'log.blockHash', 32),
      transactionHash: parseHex(log['transactionHash'], 'log.transactionHash', 32),
      logIndex: parseSafeInteger(log['logIndex'], 'log.logIndex'),
    };
  });
}

export function parseTransaction(value: unknown): Transaction | undefined {
  if (value === null) return undefined;
  const transaction = parseRecord(value, 'transaction');
  const to: unknown = transaction['to'] ?? null;
  return {
    input: parseHex(transaction['input'], 'transaction.input'),
    to: to === null ? undefined : parseHex(to, 'transaction.to', 20),
  };
}

function parseRecord(value: unknown, what: string): Readonly<Record<string, unknown>> {
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw new MalformedAnswer(`${what} must be an object`, value);
  return { ...value };
}
