import { expect, test } from '@jest/globals';
import { entriesWithin, roomOf } from '../../../../adapters/store/ledger/room.js';
import {
  aDecision,
  alone,
  aRefusal,
  aSettlement,
  at,
  inputsOf,
} from '../../../conformance/ledger-records.js';

const noon = at('2026-11-22T12:00:00Z');
const [signed, refused] = [aDecision('acme', noon), aRefusal('acme', noon)];
const entries = alone(signed, refused, inputsOf(signed, 1), aSettlement(signed, noon));
const [decision, refusal, inputs, settlement] = entries;

test.each([
  { name: 'takes everything while it has room', used: 99, kept: entries, left: { inputs: 0, refusals: 0 } },
  {
    name: 'leaves out inputs first',
    used: 100,
    kept: [decision, refusal, settlement],
    left: { inputs: 1, refusals: 0 },
  },
  {
    name: 'leaves out refusals next, and never what was signed or mined',
    used: 1_000,
    kept: [decision, settlement],
    left: { inputs: 1, refusals: 1 },
  },
])('a ledger with a size $name', ({ used, kept, left }) => {
  expect(inputs).toBeDefined();
  expect(entriesWithin(roomOf({ used, capacity: 100 }), entries)).toEqual({ kept, left });
});
