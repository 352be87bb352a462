import { expect, test } from '@jest/globals';
import { about, inCoins, shapeOf } from '../../../server/dashboard/shape.js';
import { count, textOrNull, time, timeOrNull, weiOrNull } from '../../../server/dashboard/ledger/schemas.js';

type Payment = {
  readonly at: number;
  readonly seenAt: number | undefined;
  readonly note: string | undefined;
  readonly feeWei: bigint | undefined;
};

const payment = shapeOf<Payment>()({
  at: [time, '2026-01-01T00:00:00.000Z'],
  seenAt: [timeOrNull, null],
  note: [about(textOrNull, 'Why.'), 'tip'],
  length: [count, 3, ({ note = '' }) => note.length],
  ...inCoins('fee', weiOrNull, 10n ** 17n),
});

test('the members of a record are in its schema, its example, its columns and its answers, in the order of their rows', () => {
  const names = ['at', 'seenAt', 'note', 'length', 'feeWei', 'fee'];
  const { schema, example, columns, render } = payment;
  const rendered = render({ at: 0, seenAt: 1, note: 'a', feeWei: 1n });
  for (const each of [schema['required'], columns]) expect(each).toEqual(names);
  for (const each of [schema['properties'], example, rendered])
    expect(Object.keys(Object(each))).toEqual(names);
});

test('times are rendered as RFC 3339 and amounts as decimal text, also in coins', () => {
  expect(payment.render({ at: 0, seenAt: 1, note: 'a', feeWei: -15n * 10n ** 17n })).toEqual({
    at: '1970-01-01T00:00:00.000Z',
    seenAt: '1970-01-01T00:00:00.001Z',
    note: 'a',
    length: 1,
    feeWei: '-1500000000000000000',
    fee: '-1.5',
  });
});

test('what is not known is null', () => {
  const rendered = payment.render({ at: 0, seenAt: undefined, note: undefined, feeWei: undefined });
  expect(rendered).toMatchObject({ seenAt: null, note: null, length: 0, feeWei: null, fee: null });
});

test('the example of an amount in coins follows from that in wei', () => {
  expect(payment.example).toMatchObject({ feeWei: '100000000000000000', fee: '0.1' });
});
