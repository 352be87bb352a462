import { constants, zstdCompressSync, zstdDecompressSync } from 'node:zlib';
import type { DecisionInputs } from '../../../core/ledger/record.js';
import type { EpochMs } from '../../../core/units/time.js';
import type { RowOf } from './columns.js';
import { dayOf, storableTime, type Row } from './record-rows.js';
import { storable } from './text.js';

// Inputs of decisions that are written together say much alike: fees, prices, answers, the code of one wallet. Compressed together they
// take a fifth of what they take alone, and what repeats is stored once.

type Packed = readonly [id: string, paymasterId: string, at: number, sequence: number, body: string];

/** Of 32 inputs: 5 µs and 270 bytes each. Deflated by its fastest level they took 15 µs and 300 bytes. */
const params = { [constants.ZSTD_c_compressionLevel]: 1 };
/** No caller makes a block larger than this when it is read: bodies are 16 kB at most. */
const mostBytes = 2 ** 26;

/** A block for each organisation, chain and day. */
export function inputBlocks(inputs: readonly DecisionInputs[]): readonly RowOf<'inputs'>[] {
  if (inputs.length === 0) return [];
  const groups = Map.groupBy(
    inputs,
    ({ id, organisation, chainId }) => `${dayOf(id)}\n${chainId}\n${organisation}`,
  );
  return [...groups.values()].map(blockOf);
}

function blockOf(inputs: readonly DecisionInputs[]): RowOf<'inputs'> {
  const [{ id, organisation, chainId }] = inputs as readonly [DecisionInputs];
  const packed = inputs.map((one): Packed => [
    one.id,
    one.paymasterId,
    storableTime(one.at),
    one.sequence,
    one.body,
  ]);
  const ordered = packed.toSorted(([, , , a], [, , , b]) => a - b);
  const times = packed.map(([, , at]) => at);
  return {
    day: dayOf(id),
    organisation: storable(organisation),
    chain_id: chainId,
    first_sequence: ordered[0]![3],
    last_sequence: ordered.at(-1)![3],
    first_at: Math.min(...times),
    last_at: Math.max(...times),
    count: inputs.length,
    body: zstdCompressSync(JSON.stringify(ordered), { params }),
  };
}

/** The inputs of a block, in the order of their places. */
export function inputsOfBlock(row: Row): readonly DecisionInputs[] {
  const { organisation, chain_id: chainId, body } = row;
  if (!(body instanceof Uint8Array)) throw new TypeError(`a block of inputs holds ${typeof body}, not bytes`);
  const packed = JSON.parse(
    zstdDecompressSync(body, { maxOutputLength: mostBytes }).toString(),
  ) as readonly Packed[];
  return packed.map(([id, paymasterId, at, sequence, text]) => ({
    kind: 'inputs',
    id,
    at: at as EpochMs,
    organisation: String(organisation),
    paymasterId,
    chainId: Number(chainId),
    sequence,
    body: text,
  }));
}
