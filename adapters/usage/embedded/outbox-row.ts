import { quoted } from '../../../core/ledger/quoted.js';
import type { EpochMs } from '../../../core/units/time.js';
import type { AddedRecord } from '../../../core/usage/usage-store.js';
import { integerOf, textOf, type Row } from '../../sqlite/row.js';

export type OutboxRecord = AddedRecord & {
  readonly position: number;
  readonly chainId: number;
  readonly addedAt: EpochMs;
  /** Of the text, in UTF-8. */
  readonly bytes: number;
};

/**
 * Records of one chain and moment as the columns of a row. `head` is a JSON list of position, where its text begins, and
 * reservation or null, of each record in turn; `texts` are all texts without anything between them, so that none of them has to
 * be escaped.
 */
export function formatRow(records: readonly OutboxRecord[]): {
  readonly head: string;
  readonly texts: string;
} {
  let head = '';
  let texts = '';
  for (const { position, reservation, text } of records) {
    head += `${head === '' ? '[' : ','}${position},${texts.length},${reservation === undefined ? 'null' : quoted(reservation)}`;
    texts += text;
  }
  return { head: `${head}]`, texts };
}

export function parseRow(row: Row): readonly OutboxRecord[] {
  const head = JSON.parse(textOf(row, 'head')) as readonly (number | string | null)[];
  const texts = textOf(row, 'texts');
  const chainId = integerOf(row, 'chain_id');
  const addedAt = integerOf(row, 'added_at') as EpochMs;
  const records: OutboxRecord[] = [];
  for (let i = 0; i < head.length; i += 3) {
    const [position, begin, reservation, , end] = head.slice(i, i + 5);
    const text = texts.slice(Number(begin), end === undefined ? undefined : Number(end));
    records.push({
      position: Number(position),
      chainId,
      addedAt,
      reservation: typeof reservation === 'string' ? reservation : undefined,
      text,
      bytes: Buffer.byteLength(text),
    });
  }
  return records;
}
